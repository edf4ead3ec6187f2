#include "simulator/engine/cudagraph/capture_sizes.h"

#include <algorithm>
#include <set>

#include "reference/contract/refuse.h"
#include "simulator/engine/in_range.h"

namespace pagelab {
namespace {

constexpr std::int64_t kCeiling = 512;            // tokens
constexpr std::int64_t kBlackwellCeiling = 1024;  // tokens

void require_sound(const CaptureSizeSettings& settings) {
  require_in_range("max_num_seqs", settings.max_num_seqs, 1);
  require_in_range("max_num_batched_tokens", settings.max_num_batched_tokens, 1, kMostTokens);
  require_in_range("uniform_decode_query_len", settings.uniform_decode_query_len, 1);
  if (settings.max_cudagraph_capture_size) {
    require_in_range("max_cudagraph_capture_size", *settings.max_cudagraph_capture_size, 1);
  }
  if (!settings.cudagraph_capture_sizes) return;
  if (settings.cudagraph_capture_sizes->empty()) {
    refuse("cudagraph_capture_sizes is empty; leave it out to get the default sizes.");
  }
  for (const std::int64_t size : *settings.cudagraph_capture_sizes) {
    require_in_range("a size in cudagraph_capture_sizes", size, 1);
  }
}

// 8, 16, ... below 256, and from there on every 16: the larger the batch, the smaller its share of padding.
void add_spaced(std::set<std::int64_t>& values, std::int64_t max) {
  for (std::int64_t value = 8; value <= max && value < 256; value += 8) values.insert(value);
  for (std::int64_t value = 256; value <= max; value += 16) values.insert(value);
}

// Numbers of requests whose decodes get a size of their own when each has several tokens.
std::set<std::int64_t> decode_batches(std::int64_t max_num_reqs) {
  std::set<std::int64_t> batches = {max_num_reqs};
  for (const std::int64_t small : {1, 2, 4}) {
    if (small <= max_num_reqs) batches.insert(small);
  }
  add_spaced(batches, max_num_reqs);
  return batches;
}

// Decodes of a full batch hit their size exactly, without padding.
void add_decode_sizes(std::set<std::int64_t>& sizes,
                      const CaptureSizeSettings& settings,
                      std::int64_t ceiling,
                      std::int64_t max) {
  const std::int64_t query_len = settings.uniform_decode_query_len;
  if (query_len == 1) {
    if (settings.max_num_seqs <= max) sizes.insert(settings.max_num_seqs);
    return;
  }
  for (const std::int64_t num_reqs : decode_batches(std::min(settings.max_num_seqs, ceiling))) {
    if (num_reqs * query_len <= max) sizes.insert(num_reqs * query_len);
  }
}

std::set<std::int64_t> default_sizes(const CaptureSizeSettings& settings) {
  const std::int64_t ceiling = settings.data_centre_blackwell ? kBlackwellCeiling : kCeiling;
  // Twice the decodes of a full batch leaves room for a prefill chunk beside them.
  const std::int64_t wanted =
      std::min(2 * settings.max_num_seqs * settings.uniform_decode_query_len, ceiling);
  const std::int64_t max = std::min(settings.max_cudagraph_capture_size.value_or(wanted),
                                    settings.max_num_batched_tokens);

  std::set<std::int64_t> sizes;
  const std::int64_t last_single = settings.interactivity ? 32 : 4;
  for (std::int64_t size = 1; size <= std::min(last_single, max); ++size) {
    if (settings.interactivity || size != 3) sizes.insert(size);
  }
  add_spaced(sizes, max);
  if (settings.max_num_batched_tokens <= max) sizes.insert(settings.max_num_batched_tokens);
  // Who sets a maximum gets the plain list up to it.
  if (!settings.max_cudagraph_capture_size) add_decode_sizes(sizes, settings, ceiling, max);
  return sizes;
}

std::set<std::int64_t> sizes_of_user(const CaptureSizeSettings& settings) {
  std::set<std::int64_t> sizes;
  for (const std::int64_t size : *settings.cudagraph_capture_sizes) {
    if (size <= settings.max_num_batched_tokens) sizes.insert(size);
  }
  const std::int64_t max = sizes.empty() ? 0 : *sizes.rbegin();
  if (settings.max_cudagraph_capture_size && *settings.max_cudagraph_capture_size != max) {
    refuse(
        "max_cudagraph_capture_size is {}, but the largest of cudagraph_capture_sizes that a step "
        "of {} "
        "tokens can hold is {}; set one of the two, or make them agree.",
        *settings.max_cudagraph_capture_size, settings.max_num_batched_tokens, max);
  }
  return sizes;
}

}  // namespace

CaptureSizes capture_sizes(const CaptureSizeSettings& settings) {
  require_sound(settings);
  const std::set<std::int64_t> sizes =
      settings.cudagraph_capture_sizes ? sizes_of_user(settings) : default_sizes(settings);
  return {{sizes.begin(), sizes.end()}, sizes.empty() ? 0 : *sizes.rbegin()};
}

}  // namespace pagelab
