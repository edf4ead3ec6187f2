/// \file
/// Work for several threads: numbered items, each done once by whichever thread is free. Who does which
/// is chance; what an item does may not depend on it.
#pragma once

#include <cstdint>
#include <functional>

namespace pagelab::cpu_attn {

/// CPUs that this process may use.
int num_usable_cpus();

/// Calls `work(item, thread)` for the items 0 … num_items − 1, and returns when all are done.
/// \param num_items    how many
/// \param num_threads  at least 1; the caller's thread is one of them
/// \param work         must not throw; `thread` is below num_threads
void for_each_item(std::int64_t num_items,
                   int num_threads,
                   const std::function<void(std::int64_t item, int thread)>& work);

}  // namespace pagelab::cpu_attn
