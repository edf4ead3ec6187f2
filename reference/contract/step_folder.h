/// \file
/// Step folders: an attention step as `.npy` files and `step.json`, so that NumPy and PyTorch users
/// exchange steps with pagelab with no binding. The format is in docs/step_folder.md.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/attention_step.h"
#include "reference/registry/backend.h"

namespace pagelab {

/// What a step folder expects of its step; each part may be absent.
struct ExpectedResult {
  std::optional<Tensor> output;  ///< float64 [T, num_query_heads, head_size_v]
  std::optional<Tensor> lse;     ///< float64 [num_query_heads, T], natural log
  std::optional<Tensor>
      key_cache;  ///< as stored, [num_blocks, block_size, num_kv_heads, head_size]
  std::optional<Tensor>
      value_cache;  ///< as stored, [num_blocks, block_size, num_kv_heads, head_size_v]
};

/// A step folder's contents.
struct StepFolder {
  AttentionStep step;       ///< validated for storing and attending
  ExpectedResult expected;  ///< what the folder says the result is
  /// What is not wrong but may not have been meant, a sentence each.
  std::vector<std::string> notes;
};

/// Reads and validates a step folder.
/// \param folder  a directory in the step format
/// \throws Error  naming the file and what is wrong with it, or the inconsistency that validate
/// finds
StepFolder read_step_folder(const std::filesystem::path& folder);

/// Writes a step so that read_step_folder gives it back, bit for bit.
/// \param folder    created if missing
/// \param step      must be valid
/// \param expected  written beside it where present
/// \throws Error    if a file cannot be written
void write_step_folder(const std::filesystem::path& folder,
                       const AttentionStep& step,
                       const ExpectedResult& expected = {});

/// Writes `output.npy`, `lse.npy`, `key_cache.npy` and `value_cache.npy`.
/// \throws Error  if a file cannot be written
void write_result(const std::filesystem::path& folder, const AttentionResult& result);

}  // namespace pagelab
