// Wrong in task 1: a row has room for the key and none for the value.
// Everything else is the solution's.
#pragma once

#define kv_cache_shape right_kv_cache_shape
#include "lessons/09_what_a_backend_provides/solution.h"
#undef kv_cache_shape

namespace pagelab::lesson_09 {

inline CacheShape kv_cache_shape(const LayerSpec& layer,
                                 std::int64_t num_blocks,
                                 std::int64_t block_size) {
  CacheShape shape = right_kv_cache_shape(layer, num_blocks, block_size);
  shape.content = layer.head_size;
  return shape;
}

}  // namespace pagelab::lesson_09
