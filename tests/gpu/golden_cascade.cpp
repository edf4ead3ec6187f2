#include "tests/gpu/golden_cascade.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "gpu/backends/flash_attn.h"
#include "gpu/backends/flashinfer.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"
#include "reference/attention/cascade.h"
#include "tests/gpu/byte_hash.h"
#include "tests/gpu/merged_states.h"
#include "tests/support/random_step.h"

namespace pagelab::test {
namespace {

constexpr std::uint64_t kNumPrefixGoldens = 32;
constexpr std::uint64_t kNumMergeGoldens = 12;
constexpr std::uint64_t kNumCascadeGoldens = 12;

std::string line_of(const std::string& what,
                    std::uint64_t seed,
                    std::uint64_t inputs,
                    const Tensor& output,
                    const Tensor& lse) {
  std::string line = fmt::format("{} {} {:016x} {:016x} {:016x}", what, seed, inputs,
                                 hash_of(output), hash_of(lse));
  const std::int64_t num_shown = std::min<std::int64_t>(4, output.size());
  for (std::int64_t index = 0; index < num_shown; ++index) {
    line += fmt::format(" {:08x}", bits_of(output.data<float>()[index]));
  }
  return line;
}

// One request whose every query sees every key. Both types, every layout and both compiled head sizes are counted;
// a quarter of the prefixes are longer than a partition.
RandomStepOptions prefix_options_of(std::uint64_t seed) {
  Random random(0xc0000000u + seed);
  RandomStepOptions options;
  options.dtype = seed % 2 == 0 ? DType::kBFloat16 : DType::kFloat16;
  options.layout = all_kv_layouts()[seed % 6];
  options.causal = false;
  options.num_kv_heads = random.whole(1, 3);
  options.num_query_heads = options.num_kv_heads * static_cast<std::int64_t>(1 + seed % 8);
  options.head_size = 16 * random.whole(1, seed % 3 == 0 ? 8 : 4);
  options.head_size_v = 16 * random.whole(1, seed % 3 == 0 ? 8 : 4);
  options.block_size = random.whole(1, 17);
  const auto num_queries = static_cast<std::int32_t>(random.whole(1, seed % 5 == 0 ? 40 : 9));
  const auto num_keys =
      static_cast<std::int32_t>(seed % 4 == 3 ? random.whole(513, 1100) : random.whole(40, 200));
  options.requests = {{num_queries, num_keys}};
  options.padding_rows = random.whole(0, 2);
  if (random.whole(0, 2) == 0) options.logit_softcap = random.real(0.5, 3.0);
  options.sinks = random.whole(0, 2) == 0;
  return options;
}

void add_prefix_lines(std::vector<std::string>& lines, const std::shared_ptr<Device>& device) {
  const auto& rung = kernels_of(*device).cascade_prefix;
  const auto backend = make_backend_of_rung(device, rung);
  for (std::uint64_t seed = 0; seed < kNumPrefixGoldens; ++seed) {
    const AttentionStep step = random_step(prefix_options_of(seed), seed);
    const AttentionResult result = attend(step, *backend);
    lines.push_back(line_of(rung.name, seed, hash_of_inputs(step), result.output, result.lse));
  }
}

void add_merge_lines(std::vector<std::string>& lines, const std::shared_ptr<Device>& device) {
  const char* const name = kernels_of(*device).merge_states.name;
  for (std::uint64_t seed = 0; seed < kNumMergeGoldens; ++seed) {
    Random random(0xe0000000u + seed);
    const Shape shape = {random.whole(1, 9), random.whole(1, 5), random.whole(1, 140)};
    const AttentionStates prefix = random_states(shape, 2 * seed);
    const AttentionStates suffix = random_states(shape, 2 * seed + 1);
    ByteHash inputs;
    for (const AttentionStates* states : {&prefix, &suffix}) {
      inputs.add(states->output);
      inputs.add(states->lse);
    }
    const AttentionStates merged = merge_on(device, prefix, suffix);
    lines.push_back(line_of(name, seed, inputs.value(), merged.output, merged.lse));
  }
}

struct NamedBackend {
  const char* name;
  std::unique_ptr<AttentionBackend> backend;
};

std::vector<NamedBackend> cascading_on(const std::shared_ptr<Device>& device) {
  std::vector<NamedBackend> backends;
  backends.push_back({"FLASH_ATTN", make_flash_attn_backend(device)});
  backends.push_back(
      {"FLASH_ATTN/by_the_batch", make_flash_attn_backend(device, {.batch_invariant = false})});
  backends.push_back({"FLASHINFER", make_flashinfer_backend(device)});
  return backends;
}

// Requests behind a prefix of 48 tokens: decodes alone, or beside longer queries. Every other step has float32, of
// which no tensor core takes anything.
RandomStepOptions cascade_options_of(std::uint64_t seed) {
  Random random(0xf0000000u + seed);
  RandomStepOptions options;
  constexpr DType kTypes[] = {DType::kBFloat16, DType::kFloat32, DType::kFloat16, DType::kFloat32};
  options.dtype = kTypes[seed % 4];
  options.layout = all_kv_layouts()[seed % 6];
  options.num_kv_heads = random.whole(1, 2);
  options.num_query_heads = options.num_kv_heads * random.whole(1, 8);
  options.head_size = options.head_size_v = 16 * random.whole(1, 5);
  options.block_size = 16;
  options.shared_prefix_blocks = 3;
  options.requests = {{1, static_cast<std::int32_t>(random.whole(49, 120))}, {1, 60}};
  if (seed % 3 == 0) options.requests.push_back({9, 70});
  options.padding_rows = random.whole(0, 2);
  if (random.whole(0, 2) == 0) options.logit_softcap = random.real(0.5, 3.0);
  options.sinks = random.whole(0, 2) == 0;
  return options;
}

void add_cascade_lines(std::vector<std::string>& lines, const std::shared_ptr<Device>& device) {
  const std::vector<NamedBackend> backends = cascading_on(device);
  for (std::uint64_t seed = 0; seed < kNumCascadeGoldens; ++seed) {
    const RandomStepOptions options = cascade_options_of(seed);
    const AttentionStep step = random_step(options, seed);
    const std::uint64_t inputs = hash_of_inputs(step);
    for (const NamedBackend& named : backends) {
      const AttentionResult result =
          attend_cascade(step, options.shared_prefix_blocks, *named.backend);
      lines.push_back(line_of(named.name, seed, inputs, result.output, result.lse));
    }
  }
}

}  // namespace

std::vector<std::string> cascade_golden_lines(const std::shared_ptr<Device>& device) {
  std::vector<std::string> lines;
  add_prefix_lines(lines, device);
  add_merge_lines(lines, device);
  add_cascade_lines(lines, device);
  return lines;
}

}  // namespace pagelab::test
