#include "tests/gpu/golden_steps.h"

#include <fmt/format.h>

#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"
#include "tests/gpu/byte_hash.h"
#include "tests/support/random_step.h"

namespace pagelab::test {
namespace {

constexpr std::uint64_t kNumSeeds = 144;  // 4 activation dtypes · 6 cache dtypes · 6 layouts

// Each seed's step. Numbers that differ from seed to seed are drawn; what must all occur is counted.
RandomStepOptions options_of(std::uint64_t seed) {
  Random random(0x90000000u + seed);
  RandomStepOptions options;
  options.dtype = static_cast<DType>(seed % 4);
  options.kv_cache_dtype = static_cast<DType>(seed / 4 % 6);
  options.layout = all_kv_layouts()[seed / 24 % 6];
  options.scales_per_head = random.whole(0, 1) == 1;
  options.num_kv_heads = random.whole(1, 3);
  options.num_query_heads = options.num_kv_heads * random.whole(1, 4);
  options.head_size = random.whole(1, 40);
  options.head_size_v = random.whole(1, 40);
  options.block_size = random.whole(1, 17);
  options.num_reqs = random.whole(1, 6);
  options.max_seq_len = 40;
  options.num_empty_reqs = random.whole(0, 1);
  options.num_idle_reqs = random.whole(0, 1);
  options.padding_rows = random.whole(0, 2);
  options.unstored_percent = random.whole(0, 1) * 15;
  options.causal = random.whole(0, 3) != 0;
  if (random.whole(0, 2) == 0) options.window_left = static_cast<std::int32_t>(random.whole(0, 9));
  if (random.whole(0, 2) == 0) options.logit_softcap = random.real(0.5, 3.0);
  options.alibi = random.whole(0, 2) == 0;
  options.sinks = random.whole(0, 2) == 0;
  options.mm_prefix = random.whole(0, 2) == 0;
  return options;
}

// The same for prefill: what differs is drawn by options_of, but for types and sizes.
RandomStepOptions prefill_options_of(std::uint64_t seed) {
  RandomStepOptions options = options_of(1000 + seed);
  Random random(0xa0000000u + seed);
  options.dtype = seed % 2 == 0 ? DType::kBFloat16 : DType::kFloat16;
  constexpr DType kFp8[] = {DType::kFp8E4M3, DType::kFp8E5M2};
  options.kv_cache_dtype = seed % 3 == 0 ? std::nullopt : std::optional<DType>(kFp8[seed % 3 - 1]);
  // Heads of 64, 128 and 256 elements are what is compiled; others are filled up with zeros.
  options.head_size = 16 * random.whole(1, seed % 8 == 7 ? 16 : 8);
  options.head_size_v = 16 * random.whole(1, 8);
  options.num_kv_heads = random.whole(1, 2);
  options.num_query_heads = options.num_kv_heads * random.whole(1, 3);
  options.kind = BatchKind::kMixed;
  options.num_reqs = random.whole(1, 3);
  options.max_seq_len = static_cast<std::int32_t>(random.whole(1, 150));
  return options;
}

std::string attention_line(std::uint64_t seed,
                           std::uint64_t inputs,
                           const AttentionResult& result) {
  std::string line = fmt::format("{} {:016x} {:016x} {:016x}", seed, inputs, hash_of(result.output),
                                 hash_of(result.lse));
  const std::int64_t num_shown = std::min<std::int64_t>(4, result.output.size());
  for (std::int64_t index = 0; index < num_shown; ++index) {
    line += fmt::format(" {:08x}", bits_of(result.output.data<float>()[index]));
  }
  return line;
}

std::string cache_line(std::uint64_t seed, std::uint64_t inputs, const AttentionResult& result) {
  ByteHash hash;
  for (const Tensor& array : result.cache.arrays()) hash.add(array);
  std::string line = fmt::format("{} {:016x} {:016x}", seed, inputs, hash.value());
  const Tensor& first_array = result.cache.arrays().front();
  const std::int64_t num_shown = std::min<std::int64_t>(8, first_array.size_in_bytes());
  for (std::int64_t index = 0; index < num_shown; ++index) {
    line += fmt::format(" {:02x}", static_cast<unsigned>(first_array.bytes()[index]));
  }
  return line;
}

}  // namespace

std::vector<std::string> prefill_lines(const std::shared_ptr<Device>& device) {
  constexpr std::uint64_t kNumPrefillSeeds = 48;  // 2 query dtypes · 3 cache dtypes, eight times
  std::vector<std::string> lines;
  const KernelSet kernels = kernels_of(*device);
  for (std::uint64_t seed = 0; seed < kNumPrefillSeeds; ++seed) {
    const AttentionStep step = random_step(prefill_options_of(seed), seed);
    const std::uint64_t inputs = hash_of_inputs(step);
    for (const auto& rung : kernels.paged_prefill) {
      const auto backend = make_backend_of_rung(device, rung);
      const AttentionResult result = attend(step, *backend);
      lines.push_back(std::string(rung.name) + " " + attention_line(seed, inputs, result));
    }
  }
  return lines;
}

GoldenLines golden_lines(const AttentionBackend& backend) {
  GoldenLines lines;
  for (std::uint64_t seed = 0; seed < kNumSeeds; ++seed) {
    const AttentionStep step = random_step(options_of(seed), seed);
    const std::uint64_t inputs = hash_of_inputs(step);
    const AttentionResult result = attend(step, backend);
    lines.naive_attention.push_back(attention_line(seed, inputs, result));
    lines.cache_write.push_back(cache_line(seed, inputs, result));
  }
  return lines;
}

}  // namespace pagelab::test
