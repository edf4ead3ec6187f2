/// \file
/// What this lesson asks: ten layers whose backend is to be predicted, and four reports of users who did
/// not get the backend that they wanted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/registry/selection_question.h"

namespace pagelab::lesson_08 {

/// The answer to a layer that no candidate accepts.
inline constexpr const char* kNobody = "nobody";

/// A layer that most models have: 128-wide heads, bfloat16, causal, and nothing special.
inline SelectionQuestion plain_layer(DeviceCapability gpu) {
  SelectionQuestion question;
  question.capability = gpu;
  question.config.head_size = 128;
  question.config.dtype = "bfloat16";
  question.config.kv_cache_dtype = "auto";
  return question;
}

/// A layer, and how a person would describe it.
struct NamedLayer {
  std::string text;         ///< what differs from a plain layer
  SelectionQuestion asked;  ///< the same for the registry
};

/// The ten layers of task 1.
inline std::vector<NamedLayer> ten_layers() {
  std::vector<NamedLayer> layers;
  const auto add = [&layers](const char* text, DeviceCapability gpu) -> AttentionSelectorConfig& {
    layers.push_back({text, plain_layer(gpu)});
    return layers.back().asked.config;
  };
  add("H100 (9.0), a plain layer", {9, 0});
  add("B200 (10.0), a plain layer", {10, 0});
  add("B200 (10.0), no causal mask", {10, 0}).use_non_causal = true;
  add("B200 (10.0), heads of 80 elements", {10, 0}).head_size = 80;
  add("L4 (8.9), a cache of fp8_e5m2", {8, 9}).kv_cache_dtype = "fp8_e5m2";
  add("H100 (9.0), a cache of fp8", {9, 0}).kv_cache_dtype = "fp8";
  add("A100 (8.0), attention sinks", {8, 0}).has_sink = true;
  add("H100 (9.0), activations of float32", {9, 0}).dtype = "float32";
  add("L4 (8.9), --block-size 8", {8, 9}).block_size = 8;
  add("T4 (7.5), heads of 16 elements", {7, 5}).head_size = 16;
  return layers;
}

/// What a user can change without another model or another GPU.
struct Settings {
  std::string kv_cache_dtype = "auto";                ///< --kv-cache-dtype
  std::optional<std::int64_t> block_size = {};        ///< --block-size; none: left open
  std::optional<std::string> attention_backend = {};  ///< --attention-backend; none: automatic
  bool operator==(const Settings&) const = default;   ///< same settings
};

/// A user who got another backend than the one wanted, or none.
struct Report {
  int number = 0;           ///< 1 to 4
  std::string text;         ///< in the user's words
  SelectionQuestion layer;  ///< with what the model and the GPU say
  Settings settings;        ///< what the user has set
  std::string wanted;       ///< the backend to get
};

/// The question that a layer puts under some settings.
inline SelectionQuestion under(SelectionQuestion layer, const Settings& settings) {
  layer.config.kv_cache_dtype = settings.kv_cache_dtype;
  layer.config.block_size = settings.block_size;
  return layer;
}

/// The four reports of task 3.
inline std::vector<Report> four_reports() {
  std::vector<Report> reports = {
      {.number = 1,
       .text = "Llama-3-8B does not start on our H100 with --block-size 8. We want FLASH_ATTN.",
       .layer = plain_layer({9, 0}),
       .settings = {.block_size = 8},
       .wanted = "FLASH_ATTN"},
      {.number = 2,
       .text = "Llama-3-8B does not start on our L4 with --kv-cache-dtype fp8_e5m2 --block-size "
               "24. We want FLASH_ATTN.",
       .layer = plain_layer({8, 9}),
       .settings = {.kv_cache_dtype = "fp8_e5m2", .block_size = 24},
       .wanted = "FLASH_ATTN"},
      {.number = 3,
       .text = "Llama-3-8B gets FLASHINFER on our B200. To compare, we want FLASH_ATTN.",
       .layer = plain_layer({10, 0}),
       .settings = {},
       .wanted = "FLASH_ATTN"},
      {.number = 4,
       .text = "gpt-oss-20b, which has sinks, gets TRITON_ATTN on our A100. We want FLASH_ATTN.",
       .layer = plain_layer({8, 0}),
       .settings = {},
       .wanted = "FLASH_ATTN"}};
  reports.back().layer.config.head_size = 64;
  reports.back().layer.config.has_sink = true;
  return reports;
}

}  // namespace pagelab::lesson_08
