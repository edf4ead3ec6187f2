/// \file
/// Kernels that do nothing but meet, for the price of a meeting.
#pragma once

namespace pagelab {

/// How many threads meet how often.
struct MeetParams {
  unsigned int ctas = 1;      ///< thread blocks
  unsigned int threads = 32;  ///< of a thread block
  int rounds = 1;             ///< meetings
};

namespace on_simulator {
/// Barriers of all threads of a thread block.
void launch_barriers(const MeetParams& params);
/// Shuffles of each warp.
void launch_shuffles(const MeetParams& params);
}  // namespace on_simulator

namespace on_checked_simulator {
/// \copydoc on_simulator::launch_barriers
void launch_barriers(const MeetParams& params);
/// \copydoc on_simulator::launch_shuffles
void launch_shuffles(const MeetParams& params);
}  // namespace on_checked_simulator

}  // namespace pagelab
