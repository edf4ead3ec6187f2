#include "tests/gpu/golden_decode.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/backends/naive.h"
#include "tests/gpu/byte_hash.h"
#include "tests/support/random_step.h"

namespace pagelab::test {
namespace {

// Each seed's step. Numbers that differ from seed to seed are drawn; what must all occur is counted. Rung 7 gets
// 16 bits an element.
RandomStepOptions options_of(int rung, std::uint64_t seed) {
  constexpr DType kCaches[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFp8E4M3,
                               DType::kFp8E5M2};
  Random random(0xd0000000u + seed);
  RandomStepOptions options;
  options.dtype = static_cast<DType>(seed % 4);
  options.kv_cache_dtype = kCaches[seed / 4 % 5];
  options.layout = all_kv_layouts()[seed % 6];
  options.scales_per_head = random.whole(0, 1) == 1;
  options.num_kv_heads = random.whole(1, 2);
  options.num_query_heads = options.num_kv_heads * random.whole(1, 9);
  options.head_size = 16 * random.whole(1, seed % 8 == 0 ? 16 : 6);
  options.head_size_v = 16 * random.whole(1, seed % 8 == 0 ? 16 : 6);
  options.block_size = random.whole(1, 17);
  options.num_reqs = random.whole(1, 3);
  options.max_seq_len = 60;
  if (seed % 5 == 0) options.requests = {{1, 900}, {2, 513}};
  options.padding_rows = random.whole(0, 2);
  options.causal = random.whole(0, 3) != 0;
  if (random.whole(0, 2) == 0) options.window_left = static_cast<std::int32_t>(random.whole(0, 9));
  if (random.whole(0, 2) == 0) options.logit_softcap = random.real(0.5, 3.0);
  options.alibi = random.whole(0, 2) == 0;
  options.sinks = random.whole(0, 2) == 0;
  options.mm_prefix = random.whole(0, 2) == 0;
  if (rung == 7) {
    options.dtype = seed / 2 % 2 == 0 ? DType::kFloat16 : DType::kBFloat16;
    if (!is_fp8(*options.kv_cache_dtype)) options.kv_cache_dtype = options.dtype;
  }
  return options;
}

}  // namespace

std::vector<std::string> decode_golden_lines(const std::shared_ptr<Device>& device) {
  std::vector<std::string> lines;
  for (std::uint64_t seed = 0; seed < kNumDecodeGoldens; ++seed) {
    for (int rung = 3; rung <= 7; ++rung) {
      const AttentionStep step = random_step(options_of(rung, seed), seed);
      const std::uint64_t inputs = hash_of_inputs(step);
      const AttentionResult result = attend(step, *make_naive_backend(device, rung));
      std::string line = fmt::format("{} {} {:016x} {:016x} {:016x}", rung, seed, inputs,
                                     hash_of(result.output), hash_of(result.lse));
      const std::int64_t num_shown = std::min<std::int64_t>(4, result.output.size());
      for (std::int64_t index = 0; index < num_shown; ++index) {
        line += fmt::format(" {:08x}", bits_of(result.output.data<float>()[index]));
      }
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace pagelab::test
