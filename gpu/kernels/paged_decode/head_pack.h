/// \file
/// Packs of query heads that share the keys and values of one KV head.
#pragma once

#include <cstdint>

#include "gpu/kernels/paged_attention/params.h"
#include "reference/numerics/target.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

/// Neighbouring query heads of one KV head.
struct HeadPack {
  std::int64_t first_head_idx;  ///< query head
  int num_heads;                ///< 1 to the size of a pack

  /// The pack's head of a number; beyond the last head it is the last one again.
  PAGELAB_HD std::int64_t head_idx(int h) const {
    return first_head_idx + (h < num_heads ? h : num_heads - 1);
  }
};

/// Packs that the query heads of one KV head make.
/// \param params          of the launch
/// \param heads_per_pack  at most
PAGELAB_HD inline std::int64_t packs_per_group(const PagedAttentionParams& params,
                                               int heads_per_pack) {
  const std::int64_t group_size = params.num_query_heads / params.num_kv_heads;
  return (group_size + heads_per_pack - 1) / heads_per_pack;
}

/// Packs of all query heads.
/// \param params          of the launch
/// \param heads_per_pack  at most
PAGELAB_HD inline std::int64_t num_packs(const PagedAttentionParams& params, int heads_per_pack) {
  return params.num_kv_heads * packs_per_group(params, heads_per_pack);
}

/// The heads of a pack.
/// \param params          of the launch
/// \param heads_per_pack  at most
/// \param pack_idx        below num_packs
PAGELAB_HD inline HeadPack head_pack(const PagedAttentionParams& params,
                                     int heads_per_pack,
                                     std::int64_t pack_idx) {
  const std::int64_t group_size = params.num_query_heads / params.num_kv_heads;
  const std::int64_t packs = packs_per_group(params, heads_per_pack);
  const std::int64_t kv_head_idx = pack_idx / packs;
  const std::int64_t first_in_group = pack_idx % packs * heads_per_pack;
  const std::int64_t heads_left = group_size - first_in_group;
  HeadPack pack;
  pack.first_head_idx = kv_head_idx * group_size + first_in_group;
  pack.num_heads = heads_left < heads_per_pack ? static_cast<int>(heads_left) : heads_per_pack;
  return pack;
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
