/// \file
/// The CPU's cores, as threads that wait for work.
#pragma once

#include <functional>

namespace pagelab::simt {

/// Calls `work` on every core at once, the caller's thread among them, and returns when all have
/// returned. If another thread is using the cores, the caller works alone.
/// \param work  must not throw
void on_all_cores(const std::function<void()>& work);

}  // namespace pagelab::simt
