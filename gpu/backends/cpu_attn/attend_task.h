/// \file
/// One task of the fast CPU attention, step by step; the steps have the names and the order that they
/// have in the reference and in the kernels. Compiled for each width of vector.
#pragma once

#include <algorithm>

#include "gpu/backends/cpu_attn/few_rows.h"
#include "gpu/backends/cpu_attn/finish.h"
#include "gpu/backends/cpu_attn/lanes.h"
#include "gpu/backends/cpu_attn/many_rows.h"
#include "gpu/backends/cpu_attn/params.h"
#include "gpu/backends/cpu_attn/softmax.h"
#include "gpu/backends/cpu_attn/task_rows.h"

namespace pagelab::cpu_attn {
namespace PAGELAB_WIDTH {

/// What depends on the type of stored elements.
struct OfStoredType {
  RowReader read_row;                                     ///< a whole row as floats
  decltype(&products_of_few<float>) products_of_few;      ///< step 2
  decltype(&add_values_of_few<float, false>) add_values;  ///< step 4 where all rows see all keys
  decltype(&add_values_of_few<float, true>) add_visible_values;  ///< step 4 elsewhere
};

/// The functions for one type.
/// \tparam Stored  of the cache's elements
template <typename Stored>
inline constexpr OfStoredType kOfStoredType = {&read_row<Stored>, &products_of_few<Stored>,
                                               &add_values_of_few<Stored, false>,
                                               &add_values_of_few<Stored, true>};

/// The functions for the type that a cache has.
/// \param dtype  of its elements
inline const OfStoredType& of_stored_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return kOfStoredType<double>;
    case DType::kFloat16:
      return kOfStoredType<Float16>;
    case DType::kBFloat16:
      return kOfStoredType<BFloat16>;
    case DType::kFp8E4M3:
      return kOfStoredType<Fp8E4M3>;
    case DType::kFp8E5M2:
      return kOfStoredType<Fp8E5M2>;
    default:
      return kOfStoredType<float>;
  }
}

/// A task under way.
class TaskRun {
 public:
  /// A run of this task, in this memory; all three must outlive it.
  TaskRun(const Params& params, const Task& task, Scratch& scratch)
      : params_(params),
        task_(task),
        scratch_(scratch),
        stored_(of_stored_type(params.kv_dtype)),
        k_scale_(params.k_scales[task.kv_head_idx]),
        v_scale_(params.v_scales[task.kv_head_idx]) {}

  /// Does it.
  void run() {
    start_rows(params_, task_, scratch_);
    const KeyRange seen = keys_seen_by(scratch_, 0, task_.num_rows, task_.keys);
    if (task_.num_rows <= kFewRows) {
      attend_few(seen);
    } else {
      attend_many(seen);
    }
  }

 private:
  void attend_few(KeyRange seen) {
    const std::int64_t num_rows = (task_.num_rows + kRowsAtOnce - 1) / kRowsAtOnce * kRowsAtOnce;
    const std::int64_t head_size = padded(params_.head_size);
    const std::int64_t head_size_v = padded(params_.head_size_v);
    // Vectors take whole rows of the cache; a head that does not fill them is copied, a tile at a time.
    const bool is_direct = head_size == params_.head_size && head_size_v == params_.head_size_v;
    const OfStoredType& read = is_direct ? stored_ : kOfStoredType<float>;
    read_queries([&](std::int64_t row) { return scratch_.query.data() + row * head_size; });

    float* weights = scratch_.weights.data();
    locate_first_tile(params_, task_, seen, scratch_);
    while (scratch_.tile.num_keys > 0) {
      // Step 1: locate the block
      locate_next_tile(params_, task_, seen, scratch_);
      TileRows& tile = scratch_.tile;
      if (!is_direct) copy_tile(head_size, head_size_v);

      // Step 2: scores
      read.products_of_few(scratch_.query.data(), num_rows, head_size, tile.keys, tile.num_keys,
                           k_scale_, scratch_.next_tile.keys, weights);

      // Step 3: softmax update
      const KeyRange keys = {tile.first_position, tile.first_position + tile.num_keys};
      const bool some_hidden = !all_see(scratch_, 0, task_.num_rows, keys);
      update_softmax(some_hidden, 0, kFewRows, keys, weights, kFewRows);

      // Step 4: weighted values
      const auto add_values = some_hidden ? read.add_visible_values : read.add_values;
      add_values(weights, num_rows, tile.values, tile.num_keys, head_size_v, v_scale_,
                 scratch_.rescale.data(), scratch_.next_tile.values, scratch_.acc.data());
      std::swap(scratch_.tile, scratch_.next_tile);
    }

    // Step 5: normalise
    for (std::int64_t row = 0; row < task_.num_rows; ++row) {
      finish_row(params_, task_, scratch_, row, scratch_.acc.data() + row * head_size_v, 1);
    }
  }

  void attend_many(KeyRange seen) {
    const std::int64_t num_strips = (task_.num_rows + kRowsPerStrip - 1) / kRowsPerStrip;
    const std::int64_t query_size = params_.head_size * kRowsPerStrip;
    const std::int64_t acc_size = params_.head_size_v * kRowsPerStrip;
    read_transposed_queries();

    locate_first_tile(params_, task_, seen, scratch_);
    while (scratch_.tile.num_keys > 0) {
      // Step 1: locate the block
      locate_next_tile(params_, task_, seen, scratch_);
      const TileRows& tile = scratch_.tile;
      if (params_.kv_dtype != DType::kFloat32) {
        copy_tile(padded(params_.head_size), padded(params_.head_size_v));
      }
      const KeyRange tile_keys = {tile.first_position, tile.first_position + tile.num_keys};
      for (std::int64_t strip = 0; strip < num_strips; ++strip) {
        const std::int64_t first_row = strip * kRowsPerStrip;
        const std::int64_t num_rows = std::min(kRowsPerStrip, task_.num_rows - first_row);
        const KeyRange keys = keys_seen_by(scratch_, first_row, num_rows, tile_keys);
        if (keys.begin >= keys.end) continue;
        attend_strip(keys, strip, first_row, num_rows, scratch_.query.data() + strip * query_size,
                     scratch_.acc.data() + strip * acc_size);
      }
      std::swap(scratch_.tile, scratch_.next_tile);
    }

    // Step 5: normalise
    for (std::int64_t row = 0; row < task_.num_rows; ++row) {
      const float* acc = scratch_.acc.data() + row / kRowsPerStrip * acc_size + row % kRowsPerStrip;
      finish_row(params_, task_, scratch_, row, acc, kRowsPerStrip);
    }
  }

  // Some keys of the current tile, float32 now, and one strip.
  void attend_strip(KeyRange keys,
                    std::int64_t strip,
                    std::int64_t first_row,
                    std::int64_t num_rows,
                    const float* query,
                    float* acc) {
    const TileRows& tile = scratch_.tile;
    const std::int64_t first_key = keys.begin - tile.first_position;
    const std::int64_t num_keys = keys.end - keys.begin;
    const float* key_rows[kKeysPerTile + kSpareKeys];
    const float* value_rows[kKeysPerTile + kSpareKeys];
    for (std::int64_t key = 0; key < num_keys + kSpareKeys; ++key) {
      const std::int64_t row = std::min(first_key + key, kKeysPerTile + kSpareKeys - 1);
      key_rows[key] = reinterpret_cast<const float*>(tile.keys[row]);
      value_rows[key] = reinterpret_cast<const float*>(tile.values[row]);
    }

    // Step 2: scores
    float* weights = scratch_.weights.data();
    products_of_many(query, params_.head_size, key_rows, num_keys, weights);

    // Step 3: softmax update
    const bool some_hidden = !all_see(scratch_, first_row, num_rows, keys);
    update_softmax(some_hidden, first_row, kRowsPerStrip, keys, weights, kRowsPerStrip);

    // Step 4: weighted values
    const float* rescale = scratch_.rescale.data() + strip * kRowsPerStrip;
    const auto add_values = some_hidden ? &add_values_of_many<true> : &add_values_of_many<false>;
    add_values(weights, value_rows, num_keys, params_.head_size_v, rescale, acc);
  }

  void update_softmax(bool some_hidden,
                      std::int64_t first_row,
                      std::int64_t num_rows,
                      KeyRange keys,
                      float* weights,
                      std::int64_t stride) {
    const auto update = some_hidden ? &softmax_update<true> : &softmax_update<false>;
    for (std::int64_t row = 0; row < num_rows; row += kLanes) {
      const std::int64_t first = first_row + row;
      const SoftmaxRows rows = {scratch_.positions + first,     scratch_.begins + first,
                                scratch_.ends + first,          scratch_.slopes.data() + first,
                                scratch_.m.data() + first,      scratch_.l.data() + first,
                                scratch_.rescale.data() + first};
      update(params_, rows, keys.begin, keys.end - keys.begin, weights + row, stride);
    }
  }

  // Calls `place(row)` for where each query row goes as floats.
  template <typename Place>
  void read_queries(const Place& place) {
    const RowReader read = of_stored_type(params_.query_dtype).read_row;
    for (std::int64_t row = 0; row < task_.num_rows; ++row) {
      read(query_row(params_, task_, row), params_.head_size, 1.0f, place(row));
    }
  }

  void read_transposed_queries() {
    const RowReader read = of_stored_type(params_.query_dtype).read_row;
    float* elements = scratch_.row.data();
    for (std::int64_t row = 0; row < task_.num_rows; ++row) {
      read(query_row(params_, task_, row), params_.head_size, 1.0f, elements);
      float* strip =
          scratch_.query.data() + row / kRowsPerStrip * params_.head_size * kRowsPerStrip;
      for (std::int64_t i = 0; i < params_.head_size; ++i) {
        strip[i * kRowsPerStrip + row % kRowsPerStrip] = elements[i];
      }
    }
  }

  // The tile's rows as floats in memory of ours, whose rows are `head_size` apart.
  void copy_tile(std::int64_t head_size, std::int64_t head_size_v) {
    TileRows& tile = scratch_.tile;
    for (std::int64_t key = 0; key < kKeysPerTile + kSpareKeys; ++key) {
      const std::int64_t row = std::min(key, tile.num_keys - 1);
      float* key_row = scratch_.keys.data() + row * head_size;
      float* value_row = scratch_.values.data() + row * head_size_v;
      if (row == key) {
        stored_.read_row(tile.keys[key], params_.head_size, k_scale_, key_row);
        stored_.read_row(tile.values[key], params_.head_size_v, v_scale_, value_row);
      }
      tile.keys[key] = reinterpret_cast<const std::byte*>(key_row);
      tile.values[key] = reinterpret_cast<const std::byte*>(value_row);
    }
  }

  const Params& params_;
  const Task& task_;
  Scratch& scratch_;
  const OfStoredType& stored_;
  float k_scale_;
  float v_scale_;
};

/// Does one task.
void attend_task(const Params& params, const Task& task, Scratch& scratch) {
  TaskRun(params, task, scratch).run();
}

}  // namespace PAGELAB_WIDTH
}  // namespace pagelab::cpu_attn
