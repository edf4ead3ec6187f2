#include "reference/cache/kernel_blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "reference/contract/refuse.h"

namespace pagelab {

namespace {

std::string to_string(std::span<const AcceptedBlockSize> accepted) {
  std::vector<std::string> names;
  for (const AcceptedBlockSize& rule : accepted) {
    names.push_back(rule.multiple_of ? fmt::format("multiples of {}", rule.size)
                                     : fmt::format("{}", rule.size));
  }
  return fmt::format("[{}]", fmt::join(names, ", "));
}

bool all_accept(std::span<const std::vector<AcceptedBlockSize>> backends, std::int64_t block_size) {
  return std::all_of(backends.begin(), backends.end(),
                     [block_size](const std::vector<AcceptedBlockSize>& accepted) {
                       return accepts_block_size(accepted, block_size);
                     });
}

}  // namespace

bool accepts_block_size(std::span<const AcceptedBlockSize> accepted, std::int64_t block_size) {
  return std::any_of(accepted.begin(), accepted.end(), [block_size](const AcceptedBlockSize& rule) {
    return rule.multiple_of ? block_size % rule.size == 0 : block_size == rule.size;
  });
}

std::int64_t choose_kernel_block_size(std::int64_t manager_block_size,
                                      std::span<const std::vector<AcceptedBlockSize>> backends) {
  if (manager_block_size < 1) {
    throw Error(
        fmt::format("the manager's block size is {}; it must be at least 1.", manager_block_size));
  }
  for (const std::vector<AcceptedBlockSize>& accepted : backends) {
    for (const AcceptedBlockSize& rule : accepted) {
      if (rule.size < 1) {
        throw Error(
            fmt::format("a backend accepts block size {}; it must be at least 1.", rule.size));
      }
    }
  }
  if (all_accept(backends, manager_block_size)) return manager_block_size;

  std::int64_t largest = 0;
  for (const std::vector<AcceptedBlockSize>& accepted : backends) {
    for (const AcceptedBlockSize& rule : accepted) {
      const bool divides = manager_block_size % rule.size == 0;
      if (!rule.multiple_of && divides && all_accept(backends, rule.size)) {
        largest = std::max(largest, rule.size);
      }
    }
  }
  if (largest > 0) return largest;

  std::vector<std::string> names;
  for (const std::vector<AcceptedBlockSize>& accepted : backends) {
    names.push_back(to_string(accepted));
  }
  throw Error(
      fmt::format("no kernel block size divides the manager's block size {} and suits every "
                  "backend; they accept {}.",
                  manager_block_size, fmt::join(names, " and ")));
}

BlockTable kernel_block_table(const BlockTable& manager_table,
                              std::int64_t blocks_per_manager_block,
                              std::int64_t stride) {
  if (blocks_per_manager_block < 1) {
    refuse("blocks_per_manager_block is {}; it must be at least 1.", blocks_per_manager_block);
  }
  if (stride == 0) stride = blocks_per_manager_block;
  if (stride < blocks_per_manager_block) {
    refuse("stride is {}, but a manager block has {} kernel blocks.", stride,
           blocks_per_manager_block);
  }

  constexpr std::int64_t kLargestId = std::numeric_limits<std::int32_t>::max();
  BlockTable kernel_table = BlockTable::unused(
      manager_table.num_reqs, manager_table.max_blocks_per_req * blocks_per_manager_block);
  for (std::size_t entry_idx = 0; entry_idx < manager_table.entries.size(); ++entry_idx) {
    const std::int64_t manager_block = manager_table.entries[entry_idx];
    if (manager_block == kNoBlock) continue;
    if (manager_block < 0 || manager_block > (kLargestId - blocks_per_manager_block) / stride) {
      refuse("block id {} has no kernel blocks of stride {} within an int32.", manager_block,
             stride);
    }
    for (std::int64_t part = 0; part < blocks_per_manager_block; ++part) {
      const std::size_t column = entry_idx * static_cast<std::size_t>(blocks_per_manager_block) +
                                 static_cast<std::size_t>(part);
      kernel_table.entries[column] = static_cast<std::int32_t>(manager_block * stride + part);
    }
  }
  return kernel_table;
}

BlockTable without_blocks_past_end(const BlockTable& table,
                                   std::span<const std::int32_t> seq_lens,
                                   std::int64_t block_size) {
  if (table.num_reqs != static_cast<std::int64_t>(seq_lens.size())) {
    refuse("the table has {} rows, but there are {} lengths.", table.num_reqs, seq_lens.size());
  }
  if (block_size < 1) refuse("block_size is {}; it must be at least 1.", block_size);

  BlockTable trimmed = table;
  for (std::int64_t req_idx = 0; req_idx < table.num_reqs; ++req_idx) {
    const std::int64_t seq_len = seq_lens[static_cast<std::size_t>(req_idx)];
    if (seq_len < 0) refuse("seq_lens[{}] is {}; it must be at least 0.", req_idx, seq_len);
    const std::span<std::int32_t> row = trimmed.row(req_idx);
    for (std::int64_t logical_block = blocks_for_tokens(seq_len, block_size);
         logical_block < table.max_blocks_per_req; ++logical_block) {
      row[static_cast<std::size_t>(logical_block)] = kNoBlock;
    }
  }
  return trimmed;
}

}  // namespace pagelab
