#include "tests/gpu/golden_backends.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/backends/flash_attn.h"
#include "gpu/backends/flashinfer.h"
#include "gpu/backends/flex_attention.h"
#include "gpu/backends/triton_attn.h"
#include "tests/gpu/byte_hash.h"
#include "tests/support/random_step.h"

namespace pagelab::test {
namespace {

// Each seed's step: what must all occur is counted, the rest is drawn. Every third batch has decodes alone.
RandomStepOptions options_of(std::uint64_t seed) {
  constexpr DType kCaches[] = {DType::kFloat32, DType::kFp8E4M3, DType::kFloat16, DType::kFp8E5M2,
                               DType::kBFloat16};
  Random random(0xb0000000u + seed);
  RandomStepOptions options;
  options.dtype = static_cast<DType>(1 + seed % 3);  // float32, float16, bfloat16
  options.kv_cache_dtype = seed % 2 == 0 ? options.dtype : kCaches[seed / 2 % 5];
  options.layout = all_kv_layouts()[seed % 6];
  options.scales_per_head = random.whole(0, 1) == 1;
  options.num_kv_heads = random.whole(1, 2);
  options.num_query_heads = options.num_kv_heads * random.whole(1, 7);
  options.head_size = options.head_size_v =
      seed % 4 == 3 ? random.whole(1, 70) : 16 * random.whole(1, 5);
  options.block_size = random.whole(1, 17);
  options.kind = seed % 3 == 0 ? BatchKind::kDecode : BatchKind::kMixed;
  options.num_reqs = random.whole(1, 4);
  options.max_seq_len = seed % 3 == 0 ? 600 : 90;
  options.padding_rows = random.whole(0, 2);
  options.causal = random.whole(0, 3) != 0;
  if (random.whole(0, 2) == 0) options.window_left = static_cast<std::int32_t>(random.whole(0, 40));
  if (random.whole(0, 2) == 0) options.logit_softcap = random.real(0.5, 3.0);
  options.alibi = random.whole(0, 2) == 0;
  options.sinks = random.whole(0, 2) == 0;
  options.mm_prefix = random.whole(0, 2) == 0;
  return options;
}

struct NamedBackend {
  const char* name;
  std::unique_ptr<AttentionBackend> backend;
};

std::vector<NamedBackend> backends_on(const std::shared_ptr<Device>& device) {
  std::vector<NamedBackend> backends;
  backends.push_back({"FLASH_ATTN", make_flash_attn_backend(device)});
  backends.push_back(
      {"FLASH_ATTN/by_the_batch", make_flash_attn_backend(device, {.batch_invariant = false})});
  backends.push_back({"FLASHINFER", make_flashinfer_backend(device)});
  backends.push_back({"TRITON_ATTN", make_triton_attn_backend(device)});
  backends.push_back(
      {"TRITON_ATTN/by_the_batch", make_triton_attn_backend(device, {.batch_invariant = false})});
  backends.push_back({"FLEX_ATTENTION", make_flex_attention_backend(device)});
  return backends;
}

}  // namespace

std::vector<std::string> backend_golden_lines(const std::shared_ptr<Device>& device) {
  std::vector<std::string> lines;
  const std::vector<NamedBackend> backends = backends_on(device);
  for (std::uint64_t seed = 0; seed < kNumBackendGoldens; ++seed) {
    const AttentionStep step = random_step(options_of(seed), seed);
    const std::uint64_t inputs = hash_of_inputs(step);
    for (const NamedBackend& named : backends) {
      std::string line = fmt::format("{} {} {:016x}", named.name, seed, inputs);
      try {
        const AttentionResult result = attend(step, *named.backend);
        line += fmt::format(" {:016x} {:016x}", hash_of(result.output), hash_of(result.lse));
        const std::int64_t num_shown = std::min<std::int64_t>(4, result.output.size());
        for (std::int64_t index = 0; index < num_shown; ++index) {
          line += fmt::format(" {:08x}", bits_of(result.output.data<float>()[index]));
        }
      } catch (const Error&) {
        line += " refused";
      }
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace pagelab::test
