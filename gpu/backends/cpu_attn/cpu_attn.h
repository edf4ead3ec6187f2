/// \file
/// CPU_ATTN: a fast paged attention for CPUs behind the interface of a backend.
///
/// What it keeps of vLLM's: the name and the place (attention on the host's memory, no copy to any
/// device); one path for decode, prefill and mixed batches, causal or not, with window, soft cap, ALiBi
/// and sinks; online softmax over tiles of keys in float32; the query heads of a KV head together, so
/// that each key and value is loaded once for all of them; work divided over threads by request, KV head
/// and, where a request has few query tokens, stretches of its keys, which are merged.
/// What it leaves out: the cache layout of its own with keys packed for the processor's vectors or matrix
/// units (here: any layout of the contract, read in place), AMX and bfloat16 products, a metadata
/// builder (the batch is divided in forward), NUMA and binding of threads, and other architectures than
/// x86-64.
/// Differs: vLLM divides keys by the number of threads; here the division depends on a request's own
/// lengths alone, so that its bits depend on neither threads nor batch neighbours.
///
/// The order of a row's arithmetic:
/// 1. score: where a request's rows (query tokens × query heads of a KV head) are at most 16, the product
///    is 16 chains of fma and a tree (few_rows.h), else one chain over increasing elements; then scale,
///    soft cap, bias;
/// 2. keys in tiles of 64 positions. A tile's weights are taken against the maximum so far; its sum of
///    weights, and of weighted values, are chains over increasing position from +0;
/// 3. joining a tile: sum = fma(sum, e^(old m − new m), the tile's sum);
/// 4. where rows are at most 128, keys in partitions of 1,024 positions, merged in ascending order; the
///    sink joins after that;
/// 5. output = sum / l, lse = m + ln l.
/// No step depends on block size, block table, layout, the rest of the batch, the number of threads, or
/// whether the processor's vectors have 8 lanes or 16.
#pragma once

#include <memory>

#include "reference/registry/backend.h"

namespace pagelab {

/// Which vectors CPU_ATTN computes with.
enum class CpuAttnWidth : std::uint8_t {
  kWidest,  ///< the widest that this processor has
  kAvx2,    ///< 8 floats
  kAvx512,  ///< 16 floats
};

/// The backend CPU_ATTN. It accepts every dtype, layout and variant of the contract; its output is
/// float32.
/// \param num_threads  threads of a call; 0: as many as there are CPUs that this process may use
/// \param width        for tests; results have the same bits
/// \throws Error       if the number is negative or above 1,024, or the processor lacks AVX-512
std::unique_ptr<AttentionBackend> make_cpu_attn_backend(int num_threads = 0,
                                                        CpuAttnWidth width = CpuAttnWidth::kWidest);

}  // namespace pagelab
