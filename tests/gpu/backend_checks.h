/// \file
/// What every backend and every rung that attends must hold, whatever it is made of: the tables of cases, the
/// traps, the golden steps, and that nothing but a row's own changes its bits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/runtime/device.h"
#include "reference/registry/backend.h"
#include "tests/cases/attention_cases.h"

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

/// Every case within the bound of the backend's own precision.
/// \returns  the largest share of the bound in use
UsedShare check_cases(const std::vector<AttentionCase>& cases, const AttentionBackend& backend);

/// Traps R1 to R10 and K4 to K18: attention_traps() and attention_twins().
void check_traps(const AttentionBackend& backend);

/// The sixteen golden steps within the bound, and the caches after them bit for bit.
void check_golden_steps(const AttentionBackend& backend);

/// K16 and K17: the rows of one request alone, and in a batch of others in caches of other block sizes.
/// \param backend  that attends
/// \param dtype    of the step
void check_neighbours(const AttentionBackend& backend, DType dtype);

/// Infinities and NaN in query, keys and values come out as in the reference.
/// \param backend  that attends
/// \param dtype    of the step
void check_extraordinary_numbers(const AttentionBackend& backend, DType dtype);

/// One request whose keys the values number: with queries of zero its output is the mean of those it sees.
AttentionStep counting_step(std::int32_t seq_len, std::int64_t block_size);

/// K8, K9 and K12: lengths around blocks, tiles and splits, with equal scores and values that number the keys:
/// no key is missed or counted twice.
void check_counts(const AttentionBackend& backend);

/// Makes a backend on a device.
using BackendOn = std::function<std::unique_ptr<AttentionBackend>(const std::shared_ptr<Device>&)>;

/// Both simulators, every order of threads: the same bits in each of the steps.
void check_thread_orders(const BackendOn& backend_on, const std::vector<AttentionStep>& steps);

}  // namespace pagelab::test
