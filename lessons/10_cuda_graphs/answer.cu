// The functions of an answer, for the target that this file is compiled for.

#include PAGELAB_ANSWER

namespace pagelab::lesson_10 {
inline namespace PAGELAB_TARGET {

Answer answer() {
  return {
      .path = PAGELAB_ANSWER,
      .resolve_mode = resolve_mode,
      .dispatch = dispatch,
      .pad_step = pad_step,
      .record_means = record_means,
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab::lesson_10
