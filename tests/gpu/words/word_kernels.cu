// All kernels of words, of the target that this file is compiled for.

#include "tests/gpu/words/word_kernels.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

std::vector<test::WordKernel> word_kernels() {
  std::vector<test::WordKernel> all;
  for (const auto& some : {barriers(), shuffles(), votes(), reductions(), atomics(), contention(),
                           numbers(), shared_arrays(), tiles()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
