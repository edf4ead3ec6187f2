// Wrong in task 4: the row does not say on which GPUs the kernel runs, which means: on all.
// Everything else is the solution's.
#pragma once

#define register_tiny_attn right_register_tiny_attn
#include "lessons/08_registry_and_selection/solution.h"
#undef register_tiny_attn

namespace pagelab::lesson_08 {

inline void register_tiny_attn(BackendRegistry& registry) {
  BackendFacts row;
  row.name = "TINY_ATTN";
  row.path = "tiny_kernels.TinyAttentionBackend";
  row.class_name = "TinyAttentionBackend";
  row.kv_cache_dtypes = {"auto", "bfloat16"};
  row.kernel_block_sizes = KernelBlockSizes{multiple_of(32)};
  row.head_sizes = HeadSizes{.listed = {64, 128}};
  row.supports_sliding_window = true;
  registry.register_backend("TINY_ATTN", row);
}

}  // namespace pagelab::lesson_08
