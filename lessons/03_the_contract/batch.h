/// \file
/// What the scheduler says about a batch, and the ways in which a batch can be wrong: the words of
/// this lesson's exercise. The arrays themselves are pagelab's own, in
/// reference/contract/attention_step.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_step.h"

namespace pagelab::lesson_03 {

/// One request of a step, as the scheduler decides it.
struct ScheduledRequest {
  std::int32_t num_computed_tokens;   ///< tokens whose keys and values are in the cache already
  std::int32_t num_scheduled_tokens;  ///< tokens that this step computes; they follow
  std::vector<std::int32_t> blocks;   ///< physical blocks, enough for both
};

/// What can be wrong with a batch, in the order in which to look for it.
enum class Mistake {
  kNone,                  ///< nothing
  kStartsDecrease,        ///< a request's query tokens end before they start
  kQueryExceedsSequence,  ///< more query tokens than seq_lens says the request has in all
  kLengthExceedsTable,    ///< seq_lens needs more blocks than a row of the block table has entries
  kBlockOutsidePool,      ///< an entry that the length needs is no block of the pool
  kSlotDisagrees,         ///< a token is stored where the block table does not look for it
  kPaddingIsStored,       ///< a token of no request has a slot
  kSlotTwice,             ///< two tokens are stored in one slot
};

/// "kNone", "kStartsDecrease", ...
inline std::string to_string(Mistake mistake) {
  const std::vector<std::string> names = {
      "kNone",
      "kStartsDecrease",
      "kQueryExceedsSequence",
      "kLengthExceedsTable",
      "kBlockOutsidePool",
      "kSlotDisagrees",
      "kPaddingIsStored",
      "kSlotTwice",
  };
  return names[static_cast<std::size_t>(mistake)];
}

}  // namespace pagelab::lesson_03
