// Lesson 07: one element of an mma term by term; which lane holds what, with and without bank conflicts;
// a weight that is rounded; and the three rungs of gpu/kernels/paged_prefill, counted.

#include <cmath>
#include <cstdio>

#include "lessons/07_tensor_cores/loaded_fragments.h"
#include "lessons/07_tensor_cores/prefill_rungs.h"
#include "lessons/07_tensor_cores/solution.h"
#include "simulator/simt/tensor_core.h"

using namespace pagelab;
using namespace pagelab::lesson_07;
using simt::WordKind;

void print_element() {
  const float a[] = {1, 1, 1.5f, 1.25f}, b[] = {0x1p-24f, 0x1p-24f, 0x1p-26f, 1.5f * 0x1p-25f};
  const float c = 1;
  std::uint16_t a_bits[16] = {}, b_bits[16] = {};
  float chain = c;
  double exact = c, sum = std::ldexp(c, 25);
  std::printf("term                 exponent  in units of 2^-25   cut off\n");
  std::printf("c  1                        0  %17.3f  %8.0f\n", sum, sum);
  for (int k = 0; k < 4; ++k) {
    a_bits[k] = round_to<BFloat16>(a[k]).bits;
    b_bits[k] = round_to<BFloat16>(b[k]).bits;
    const int exponent = product_of(a_bits[k], b_bits[k]).exponent;
    const double product = static_cast<double>(a[k]) * b[k];
    const double units = std::ldexp(product, 25);
    std::printf("%d  %-4g · %-3g · 2^%-4d %7d  %17.3f  %8.0f\n", k, a[k],
                std::ldexp(b[k], -std::ilogb(b[k])), std::ilogb(b[k]), exponent, units,
                std::trunc(units));
    sum += std::trunc(units);
    exact += product;
    chain = std::fma(a[k], b[k], chain);
  }
  const float by_mma = simt::mma_by_the_rules(a_bits, b_bits, 16, c, simt::MmaInput::kBFloat16);
  std::printf("sum %.0f, for which a float has %.0f\n", sum, std::trunc(sum / 4) * 4);
  std::printf("the solution's mma_element  %.8f\n", mma_element(a_bits, b_bits, c));
  std::printf("the simulator's mma         %.8f\n", by_mma);
  std::printf("one product after the other %.8f\n", chain);
  std::printf("exact, rounded once         %.8f\n\n", static_cast<float>(exact));
}

void print_fragments(const char* name, const LoadedFragments& loaded) {
  std::printf("%s: ldmatrix %zu times, %zu passes through the banks, %zu of them conflicts\n", name,
              loaded.loads.requests, loaded.loads.wavefronts, loaded.loads.conflicts);
  for (const int lane : {0, 1, 4, 31}) {
    std::printf("  lane %2d: ", lane);
    for (const std::uint32_t pair : loaded.registers[0][lane]) {
      const std::uint32_t first = pair % 65536, second = pair / 65536;
      std::printf("  (%u,%u) (%u,%u)", first / 64, first % 64, second / 64, second % 64);
    }
    std::printf("\n");
  }
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "This lesson takes no arguments, so %s is too much.\n", argv[1]);
    return 2;
  }
  print_element();
  print_fragments("in order", LoadedFragments(false));
  print_fragments("swizzled", LoadedFragments(true));
  std::printf("\nP 0.7 as bfloat16: %.6f\n\n", decode(round_to<BFloat16>(0.7)));
  std::printf("%-28s %5s %8s %9s %12s %9s\n", "rung", "mma", "ldmatrix", "loads", "passes",
              "conflicts");
  for (std::size_t rung = 0; rung < kNumRungs; ++rung) {
    const simt::LaunchCounters counted = prefill_counters(rung);
    const simt::MemoryCounts loads = counted.totals.of(simt::MemoryKind::kSharedLoad);
    std::printf("%-28s %5zu %8zu %9zu %12zu %9zu\n", counted.kernel.c_str(),
                counted.totals.of(WordKind::kMma), counted.totals.of(WordKind::kLdmatrix),
                loads.requests, loads.wavefronts, loads.conflicts);
  }
}
