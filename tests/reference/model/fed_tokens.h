/// \file
/// The tiny Llama through 16-bit kernels. Its texts part from the golden ones where two logits nearly tie, so the
/// golden tokens are fed, and the logits after each of them are compared: they may be 0.25 from those of float64,
/// and where the two best of those are more than twice that apart, the token must be the golden one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/model/llama.h"
#include "reference/registry/backend.h"

namespace pagelab::test {

/// A golden text: the prompt, then the tokens that follow it.
struct FedText {
  std::vector<std::int32_t> tokens;  ///< both
  std::int64_t prompt_len;           ///< tokens of the prompt
};

/// What is fed, and what float64 makes of it.
struct Feed {
  /// \param num_fed_of_each  tokens of each text, the prompt aside
  explicit Feed(std::int64_t num_fed_of_each);

  std::int64_t num_fed;                            ///< of each text
  std::vector<FedText> texts;                      ///< six
  std::vector<std::vector<RowVector>> in_float64;  ///< [text][token] logits after each token
};

/// Checks the logits of the model with attention in a type of 16 bits, and prints how far off they are.
/// \param name     of what attends, for messages
/// \param backend  that attends
/// \param dtype    of query, key, value and cache
/// \param feed     the texts
void check_fed_tokens(const std::string& name,
                      const AttentionBackend& backend,
                      DType dtype,
                      const Feed& feed);

}  // namespace pagelab::test
