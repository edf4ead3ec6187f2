/// \file
/// A kernel that does nothing, on as many threads as a test likes: for launches that are refused.
#pragma once

namespace pagelab::on_cuda {
/// Launches one thread block of so many threads on the GPU.
void launch_nothing(unsigned int threads_per_cta);
}  // namespace pagelab::on_cuda

namespace pagelab::on_simulator {
/// Launches one thread block of so many threads in the simulator.
void launch_nothing(unsigned int threads_per_cta);
}  // namespace pagelab::on_simulator

namespace pagelab::on_checked_simulator {
/// Launches one thread block of so many threads in the checked simulator.
void launch_nothing(unsigned int threads_per_cta);
}  // namespace pagelab::on_checked_simulator
