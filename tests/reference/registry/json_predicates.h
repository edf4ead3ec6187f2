// vLLM's predicates as backends.json writes them, asked: the other way to the answers that rows give.
#pragma once

#include <string>

#include "tests/reference/registry/catalogue_json.h"

namespace pagelab::test {

constexpr std::int64_t kLargestSize = 1100;  // past the end of every list of sizes

bool head_size_accepted(const Json& facts, std::int64_t head_size, DeviceCapability capability);
// What a backend pages with on a GPU, as JSON and as sizes.
const Json& kernel_blocks_at(const Json& facts, DeviceCapability capability);
KernelBlockSizes kernel_blocks_of(const Json& list);
bool block_size_accepted(const Json& facts, const Json& kernel_blocks, std::int64_t block_size);
bool capability_accepted(const Json& facts, DeviceCapability capability);
// A cache dtype, or null for one that is not known.
bool kv_cache_dtype_accepted(const Json& facts, const Json& name, const std::string& capability);
bool flag_at(const Json& flag, const std::string& capability);

// Every reason against a question, in vLLM's order; its GPU is one of swept_capabilities(), and all packages
// are there.
std::vector<std::string> reasons_by_facts(const Json& facts, const SelectionQuestion& question);

// Those of them that say what does not go together: any GPU, any environment.
std::vector<std::string> combination_reasons_by_facts(const Json& facts,
                                                      const SelectionQuestion& question);

}  // namespace pagelab::test
