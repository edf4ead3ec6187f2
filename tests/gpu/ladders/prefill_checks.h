/// \file
/// What every rung of paged_prefill must hold, for the tests of the single rungs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/runtime/device.h"
#include "reference/contract/error.h"
#include "reference/numerics/error_bound.h"
#include "reference/registry/backend.h"
#include "tests/cases/attention_cases.h"
#include "tests/cases/attention_traps.h"
#include "tests/gpu/attention_checks.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/ladders/ladders.h"

namespace pagelab::test {

/// The largest share of the bound that was in use.
class UsedShare {
 public:
  /// Takes in the share of one step.
  void add(double share) { worst_ = share > worst_ ? share : worst_; }
  double worst() const { return worst_; }  ///< 1: all of it
  /// Prints it for people.
  void print(const char* what, const Device& device) const;

 private:
  double worst_ = 0.0;
};

/// Steps around the tiles of this ladder: one key and one query fewer, as many, one more; long contexts;
/// windows and ranges that leave tiles out. They complete attention_cases().
std::vector<AttentionCase> prefill_cases();

/// The precision of a rung for a step.
/// \param rung  1 or more
/// \param step  its query's dtype is that of the operands
Precision prefill_precision(int rung, const AttentionStep& step);

/// A step on a rung of paged_prefill.
AttentionResult prefill_by(int rung,
                           const AttentionStep& step,
                           const std::shared_ptr<Device>& device);

/// K16 and K17: the rows of one request alone, and in a batch of others in caches of other block sizes.
void check_neighbours(int rung, DType dtype, const std::shared_ptr<Device>& device);

/// Infinities and NaN in query, keys and values come out as in the reference.
void check_extraordinary_numbers(int rung, DType dtype, const std::shared_ptr<Device>& device);

/// Both simulators, every order of threads: the same bits in each of the steps.
void check_thread_orders(int rung, const std::vector<AttentionStep>& steps);

}  // namespace pagelab::test
