// The kernels of an answer, for the target that this file is compiled for.

#include PAGELAB_ANSWER

namespace pagelab::lesson_06 {
inline namespace PAGELAB_TARGET {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .warp_scores = launch_warp_scores,
      .partition_states = launch_partition_states,
      .reduce_partitions = launch_reduce_partitions,
      .group_scores = launch_group_scores,
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_06
