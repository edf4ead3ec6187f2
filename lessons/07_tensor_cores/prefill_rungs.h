/// \file
/// The rungs of gpu/kernels/paged_prefill, launched in the checked simulator, and what it counted. What
/// is in the arrays does not change the counts: small numbers.
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gpu/kernels/kernel_set.h"
#include "gpu/runtime/device_array.h"
#include "simulator/simt/counters.h"

namespace pagelab::lesson_07 {

/// Rungs of the ladder.
inline constexpr std::size_t kNumRungs = 3;

/// A prompt of 128 tokens, one head of 64 elements, bfloat16, blocks of 16 tokens in reverse order.
/// \param rung  from 0
/// \returns     counts, with the kernel's name
inline simt::LaunchCounters prefill_counters(std::size_t rung) {
  constexpr std::int64_t kTokens = 128, kHeadSize = 64, kBlockSize = 16;
  const std::shared_ptr<Device> device = checked_simulator_device();
  const auto numbers = [&](std::int64_t bytes, const char* name) {
    DeviceArray array(device, static_cast<std::size_t>(bytes), name);
    device->fill(array.data(), 0x3c, array.bytes());
    return array;
  };
  const DeviceArray query = numbers(kTokens * kHeadSize * 2, "query");
  const DeviceArray keys = numbers(kTokens * kHeadSize * 2, "key_cache");
  const DeviceArray values = numbers(kTokens * kHeadSize * 2, "value_cache");
  const DeviceArray output = numbers(kTokens * kHeadSize * 4, "output");
  const DeviceArray lse = numbers(kTokens * 4, "lse");
  std::vector<std::int32_t> table(kTokens / kBlockSize);
  std::iota(table.rbegin(), table.rend(), 0);
  const DeviceArray block_table = DeviceArray::copy_of(device, table, "block_table");
  const std::vector<std::int32_t> starts = {0, kTokens}, lengths = {kTokens};
  const DeviceArray query_start_loc = DeviceArray::copy_of(device, starts, "query_start_loc");
  const DeviceArray seq_lens = DeviceArray::copy_of(device, lengths, "seq_lens");
  const DeviceArray scales = DeviceArray::copy_of(device, std::vector<float>{1.0f}, "scales");

  PagedAttentionParams params;
  params.query = query.data();
  params.num_tokens = params.max_seq_len = kTokens;
  params.num_query_heads = params.num_kv_heads = params.num_reqs = 1;
  params.head_size = params.head_size_v = kHeadSize;
  params.query_start_loc = query_start_loc.as<std::int32_t>();
  params.seq_lens = seq_lens.as<std::int32_t>();
  params.block_table = block_table.as<std::int32_t>();
  params.max_blocks_per_req = kTokens / kBlockSize;
  params.key_cache = keys.data();
  params.value_cache = values.data();
  params.key_strides = params.value_strides = {kBlockSize * kHeadSize, kHeadSize, kHeadSize};
  params.block_size = kBlockSize;
  params.k_scales = params.v_scales = scales.as<float>();
  params.scale = 0.125f;  // 1/√64
  params.output = output.as<float>();
  params.lse = lse.as<float>();
  const simt::ScopedCounting counting;
  const KernelSet set = pagelab::on_checked_simulator::kernel_set();
  set.paged_prefill[rung].launchers.at(DType::kBFloat16, DType::kBFloat16)(params);
  return counting.counters();
}

}  // namespace pagelab::lesson_07
