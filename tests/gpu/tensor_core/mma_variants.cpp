#include "tests/gpu/tensor_core/mma_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>

namespace pagelab::test {
namespace {

using simt::MmaInput;
using simt::MmaRules;

template <int kDepth>
std::int64_t count_mismatches(const MmaRules& rules,
                              MmaInput input,
                              const std::vector<MmaTile<kDepth>>& tiles,
                              const std::vector<MmaResults>& results) {
  std::int64_t mismatches = 0;
  for (std::size_t index = 0; index < tiles.size(); ++index) {
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        const float tried = result_by_the_rules(tiles[index], row, column, input, rules);
        const float computed = results[index].d[row][column];
        const bool is_same =
            std::bit_cast<std::uint32_t>(tried) == std::bit_cast<std::uint32_t>(computed);
        if (!is_same) ++mismatches;
      }
    }
  }
  return mismatches;
}

}  // namespace

std::vector<MmaVariant> all_mma_variants() {
  std::vector<MmaVariant> variants = {{MmaRules{}}};
  // How C and tiny exponents count.
  for (const bool c_is_normalised : {false, true}) {
    for (const int lowest_exponent :
         {-133, MmaRules::kNone, -126, -127, -132, -134, -149, -150, -252}) {
      MmaRules rules;
      if (c_is_normalised == rules.c_is_normalised && lowest_exponent == rules.lowest_exponent) {
        continue;  // the defaults
      }
      rules.c_is_normalised = c_is_normalised;
      rules.lowest_exponent = lowest_exponent;
      variants.push_back({rules});
    }
  }
  // How many bits are kept, and how many products are added at once.
  for (const int fraction_bits : {23, 24, 25, 26, 27}) {
    for (const int products_per_sum : {16, 8, 4}) {
      if (fraction_bits == 25 && products_per_sum == 16) continue;
      MmaRules rules;
      rules.fraction_bits = fraction_bits;
      rules.products_per_sum = products_per_sum;
      variants.push_back({rules});
    }
  }
  return variants;
}

std::string to_string(const MmaRules& rules) {
  const std::string lowest_exponent =
      rules.lowest_exponent == MmaRules::kNone ? "anything" : std::to_string(rules.lowest_exponent);
  return fmt::format("{} bits, sums of {}, subnormal C counts with {}, E at least {}",
                     rules.fraction_bits, rules.products_per_sum,
                     rules.c_is_normalised ? "its leading bit" : "-126", lowest_exponent);
}

template <int kDepth>
void try_variants(const MmaCategory& category,
                  MmaInput input,
                  const std::vector<MmaTile<kDepth>>& tiles,
                  const std::vector<MmaResults>& results,
                  std::vector<MmaVariant>& variants) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t index = next++; index < variants.size(); index = next++) {
      MmaVariant& variant = variants[index];
      const std::int64_t mismatches = count_mismatches(variant.rules, input, tiles, results);
      if (mismatches == 0) continue;
      variant.num_mismatches += mismatches;
      variant.by_category[category.name] += mismatches;
    }
  };
  std::vector<std::thread> workers(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& worker : workers) worker = std::thread(work);
  for (std::thread& worker : workers) worker.join();
}

template void try_variants<16>(const MmaCategory&,
                               MmaInput,
                               const std::vector<MmaTile<16>>&,
                               const std::vector<MmaResults>&,
                               std::vector<MmaVariant>&);
template void try_variants<8>(const MmaCategory&,
                              MmaInput,
                              const std::vector<MmaTile<8>>&,
                              const std::vector<MmaResults>&,
                              std::vector<MmaVariant>&);

}  // namespace pagelab::test
