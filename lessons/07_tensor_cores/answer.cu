// The functions and kernels of an answer, for the target that this file is compiled for.

#include PAGELAB_ANSWER

namespace pagelab::lesson_07 {
inline namespace PAGELAB_TARGET {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .product_of = product_of,
      .mma_element = mma_element,
      .multiply_tile = launch_multiply_tile,
      .place_of = place_of,
      .load_fragments = launch_load_fragments,
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_07
