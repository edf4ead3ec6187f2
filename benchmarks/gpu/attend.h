/// \file
/// Attention of a Llama-3-8B layer in bfloat16, which rungs are timed on.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>

#include "gpu/kernels/kernel_set.h"

namespace pagelab::bench {

inline constexpr std::int64_t kNumQueryHeads = 32;  ///< query heads
inline constexpr std::int64_t kNumKvHeads = 8;      ///< KV heads
inline constexpr std::int64_t kHeadSize = 128;      ///< elements of a head
inline constexpr std::int64_t kBlockSize = 16;      ///< tokens of a block
inline constexpr DType kDType = DType::kBFloat16;   ///< of queries and cache
/// Bytes of a token's keys, or of its values.
inline constexpr std::int64_t kBytesPerToken = kNumKvHeads * kHeadSize * 2;

/// Times a kernel that attends, over blocks in random order. Bytes that have to move are each key and value
/// of the batch once, the queries and the outputs.
/// \param state      of the benchmark
/// \param rung       its launchers
/// \param num_reqs   requests
/// \param query_len  queries of each
/// \param seq_len    keys of each
void attend(benchmark::State& state,
            const KernelTable<PagedAttentionParams>& rung,
            std::int64_t num_reqs,
            std::int64_t query_len,
            std::int64_t seq_len);

}  // namespace pagelab::bench
