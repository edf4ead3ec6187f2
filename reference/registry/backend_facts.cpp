#include "reference/registry/backend_facts.h"

#include <algorithm>

namespace pagelab {
namespace {

template <typename Element, typename Value>
bool holds(const std::vector<Element>& elements, const Value& value) {
  return std::find(elements.begin(), elements.end(), value) != elements.end();
}

bool fits_kernel_blocks(const BackendFacts& facts,
                        const KernelBlockSizes& kernel_block_sizes,
                        std::int64_t block_size) {
  return std::any_of(kernel_block_sizes.begin(), kernel_block_sizes.end(),
                     [&](const KernelBlockSize& kernel_block) {
                       return facts.exact_block_size ? block_size == kernel_block.size
                                                     : block_size % kernel_block.size == 0;
                     });
}

}  // namespace

bool HeadSizes::contain(std::int64_t head_size) const {
  if (!listed.empty()) return holds(listed, head_size);
  return head_size >= least && head_size <= most && head_size % multiple_of == 0;
}

bool lists_kv_cache_dtype(const BackendFacts& facts, const std::string& kv_cache_dtype) {
  return holds(facts.kv_cache_dtypes, kv_cache_dtype);
}

bool supports_head_size(const BackendFacts& facts, const SelectionQuestion& question) {
  return facts.head_sizes(question).contain(question.config.head_size) &&
         std::all_of(facts.children.begin(), facts.children.end(), [&](const BackendFacts* child) {
           return supports_head_size(*child, question);
         });
}

bool supports_dtype(const BackendFacts& facts, const SelectionQuestion& question) {
  return holds(facts.dtypes, question.config.dtype);
}

bool supports_kv_cache_dtype(const BackendFacts& facts, const SelectionQuestion& question) {
  if (!question.config.kv_cache_dtype) return !facts.needs_kv_cache_dtype;
  if (facts.kv_cache_dtype_rule != nullptr) return facts.kv_cache_dtype_rule(facts, question);
  return lists_kv_cache_dtype(facts, *question.config.kv_cache_dtype);
}

bool supports_block_size(const BackendFacts& facts, const SelectionQuestion& question) {
  const KernelBlockSizes kernel_block_sizes = facts.kernel_block_sizes(question);
  if (kernel_block_sizes.empty()) return false;
  if (!question.config.block_size) return true;
  return fits_kernel_blocks(facts, kernel_block_sizes, *question.config.block_size);
}

bool supports_compute_capability(const BackendFacts& facts, const SelectionQuestion& question) {
  const auto holds_capability = [&question](const CapabilityRange& range) {
    return range.least <= question.capability && question.capability <= range.most;
  };
  return std::any_of(facts.capabilities.begin(), facts.capabilities.end(), holds_capability) &&
         std::all_of(facts.children.begin(), facts.children.end(), [&](const BackendFacts* child) {
           return supports_compute_capability(*child, question);
         });
}

bool supports_attn_type(const BackendFacts& facts, const SelectionQuestion& question) {
  return holds(facts.attn_types, question.config.attn_type);
}

std::int64_t preferred_block_size(const BackendFacts& facts,
                                  const SelectionQuestion& question,
                                  std::int64_t default_block_size) {
  if (facts.favourite_block_size) return *facts.favourite_block_size;
  const KernelBlockSizes kernel_block_sizes = facts.kernel_block_sizes(question);
  if (fits_kernel_blocks(facts, kernel_block_sizes, default_block_size)) return default_block_size;
  if (facts.fallback_block_size) return *facts.fallback_block_size;
  const auto least = std::min_element(
      kernel_block_sizes.begin(), kernel_block_sizes.end(),
      [](const KernelBlockSize& a, const KernelBlockSize& b) { return a.size < b.size; });
  return least == kernel_block_sizes.end() ? default_block_size : least->size;
}

}  // namespace pagelab
