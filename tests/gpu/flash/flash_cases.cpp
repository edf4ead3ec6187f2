#include "tests/gpu/flash/flash_cases.h"

namespace pagelab::test {
namespace {

AttentionCase with_whole_heads(AttentionCase attention_case) {
  RandomStepOptions& options = attention_case.options;
  options.head_size = (options.head_size + 15) / 16 * 16;
  options.head_size_v = (options.head_size_v + 15) / 16 * 16;
  return attention_case;
}

std::size_t stride_on(const Device& device) {
  if (device.kind() == DeviceKind::kCuda) return 1;
  return device.kind() == DeviceKind::kSimulator ? 3 : 12;
}

RandomStepOptions bfloat16_options(const std::vector<RequestLens>& requests) {
  RandomStepOptions options;
  options.dtype = DType::kBFloat16;
  options.num_query_heads = 6;
  options.num_kv_heads = 2;
  options.head_size = 48;
  options.head_size_v = 32;
  options.block_size = 16;
  options.requests = requests;
  return options;
}

}  // namespace

std::vector<AttentionCase> flash_cases(const Device& device, std::size_t first) {
  const std::vector<AttentionCase> table = attention_cases(8000);
  const std::size_t stride = stride_on(device);
  std::vector<AttentionCase> cases;
  for (std::size_t index = first % stride; index < table.size(); index += stride) {
    cases.push_back(table[index]);
  }
  for (std::size_t index = (first + 1) % stride; index < table.size(); index += stride) {
    cases.push_back(with_whole_heads(table[index]));
  }
  return cases;
}

AttentionStep decode_step() {
  return random_step(bfloat16_options({{1, 530}, {1, 1}, {1, 16}, {1, 17}}), 81);
}

AttentionStep float_decode_step() {
  RandomStepOptions options = bfloat16_options({{1, 530}, {1, 1}, {1, 16}, {1, 17}});
  options.dtype = DType::kFloat32;
  return random_step(options, 81);
}

AttentionStep prefill_step() {
  return random_step(bfloat16_options({{20, 20}, {3, 70}, {130, 130}}), 82);
}

AttentionStep mixed_step() {
  return random_step(bfloat16_options({{7, 40}, {1, 65}, {15, 15}}), 83);
}

std::vector<AttentionStep> flash_steps() {
  RandomStepOptions options = bfloat16_options({{4, 9}, {1, 33}, {0, 5}, {1, 6}});
  options.dtype = DType::kFloat32;
  options.padding_rows = 2;
  return {decode_step(), float_decode_step(), mixed_step(), random_step(options, 84)};
}

}  // namespace pagelab::test
