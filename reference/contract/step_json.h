/// \file
/// `step.json`: the part of a step folder that is not arrays.
#pragma once

#include <filesystem>
#include <optional>

#include "reference/attention/variants.h"
#include "reference/tensor/dtype.h"

namespace pagelab {

/// The contents of step.json; an empty optional is an absent key, or null.
struct StepJson {
  DType dtype = DType::kFloat32;            ///< of query, key and value
  std::optional<DType> kv_cache_dtype;      ///< of the caches, where it differs
  AttnType attn_type = AttnType::kDecoder;  ///< whose keys
  std::optional<double> scale;              ///< else 1/√head_size
  std::optional<bool> causal;               ///< else true for a decoder, false for an encoder
  std::int32_t window_left = kUnbounded;    ///< sliding_window[0]
  std::int32_t window_right = kUnbounded;   ///< sliding_window[1]
  std::optional<double> logit_softcap;      ///< else none
  std::optional<double> k_scale;            ///< else 1, or k_scale.npy
  std::optional<double> v_scale;            ///< else 1, or v_scale.npy
};

/// Reads a step.json, strictly: an unknown or repeated key, or a value of another type, is an
/// error. \throws Error  naming the file, the key and what it must be
StepJson read_step_json(const std::filesystem::path& path);

/// Writes a step.json whole or not at all.
/// \throws Error  if the file cannot be written
void write_step_json(const std::filesystem::path& path, const StepJson& contents);

}  // namespace pagelab
