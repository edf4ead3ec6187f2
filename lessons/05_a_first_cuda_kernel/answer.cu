// The kernels of an answer, for the target that this file is compiled for.

#include PAGELAB_ANSWER

namespace pagelab::lesson_05 {
inline namespace PAGELAB_TARGET {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .largest_score = launch_largest_score,
      .shared_query = launch_shared_query,
      .weighted_values = launch_weighted_values,
      .transposed_keys = launch_transposed_keys,
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_05
