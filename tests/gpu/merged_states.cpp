#include "tests/gpu/merged_states.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "tests/support/random_step.h"

namespace pagelab::test {

AttentionStates merge_on(const std::shared_ptr<Device>& device,
                         const AttentionStates& prefix,
                         const AttentionStates& suffix) {
  const Shape& shape = prefix.output.shape();
  const DeviceArray prefix_output = DeviceArray::copy_of(device, prefix.output, "prefix_output");
  const DeviceArray prefix_lse = DeviceArray::copy_of(device, prefix.lse, "prefix_lse");
  const DeviceArray suffix_output = DeviceArray::copy_of(device, suffix.output, "suffix_output");
  const DeviceArray suffix_lse = DeviceArray::copy_of(device, suffix.lse, "suffix_lse");
  const DeviceArray output(device, static_cast<std::size_t>(prefix.output.size_in_bytes()),
                           "output");
  const DeviceArray lse(device, static_cast<std::size_t>(prefix.lse.size_in_bytes()), "lse");
  MergeStatesParams params;
  params.prefix_output = prefix_output.as<float>();
  params.prefix_lse = prefix_lse.as<float>();
  params.suffix_output = suffix_output.as<float>();
  params.suffix_lse = suffix_lse.as<float>();
  params.num_tokens = shape[0];
  params.num_query_heads = shape[1];
  params.head_size_v = shape[2];
  params.output = output.as<float>();
  params.lse = lse.as<float>();
  kernels_of(*device).merge_states.launch(params);
  AttentionStates merged = prefix;
  output.copy_to(merged.output.bytes());
  lse.copy_to(merged.lse.bytes());
  return merged;
}

AttentionStates random_states(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  AttentionStates states;
  states.output = Tensor(DType::kFloat32, shape);
  states.lse = Tensor(DType::kFloat32, {shape[1], shape[0]});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float special[] = {-kInfinity, kInfinity, NAN, -1e30f, 3e4f, 0.0f};
  for (std::int64_t index = 0; index < states.output.size(); ++index) {
    states.output.data<float>()[index] = static_cast<float>(random.real(-3.0, 3.0));
  }
  for (std::int64_t token = 0; token < shape[0]; ++token) {
    for (std::int64_t head = 0; head < shape[1]; ++head) {
      float& lse = states.lse.data<float>()[head * shape[0] + token];
      lse = static_cast<float>(random.real(-20.0, 20.0));
      if (random.whole(0, 2) == 0) lse = special[random.whole(0, 5)];
      if (!std::isinf(lse)) continue;
      float* row = states.output.data<float>() + (token * shape[1] + head) * shape[2];
      std::fill_n(row, shape[2], NAN);
    }
  }
  return states;
}

}  // namespace pagelab::test
