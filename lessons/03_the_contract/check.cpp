// Judges an answer to the exercise of lesson 03. Expected arrays are counted off token by token; the
// sentence behind each mistake is that of pagelab's own validate, which also has to agree that a batch
// made wrong on purpose is wrong.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lessons/03_the_contract/answer.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/random_data.h"
#include "reference/contract/validate.h"

namespace pagelab::lesson_03 {
namespace {

using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;

const Answer kAnswer = answer();

/// A step as the scheduler decided it.
struct Scheduled {
  std::string origin;
  std::vector<ScheduledRequest> requests;
  std::int64_t block_size;
  std::int64_t num_blocks;
  std::int64_t num_tokens;  // padding included
};

std::int64_t num_scheduled(const Scheduled& step) {
  std::int64_t total = 0;
  for (const ScheduledRequest& request : step.requests) total += request.num_scheduled_tokens;
  return total;
}

Scheduled random_batch(int seed, int num_reqs, int block_size) {
  RandomData random(seed);
  Scheduled step = {"random with seed " + show(seed), {}, block_size, 0, 0};
  int num_needed = 0;
  for (int i = 0; i < num_reqs; ++i) {
    ScheduledRequest request = {};
    const bool is_new = random.integer(0, 2) == 0;
    const bool is_decode = random.integer(0, 1) == 0;
    request.num_computed_tokens = is_new ? 0 : random.integer(1, 3 * block_size);
    request.num_scheduled_tokens = is_decode ? 1 : random.integer(1, 2 * block_size + 1);
    const int num_tokens = request.num_computed_tokens + request.num_scheduled_tokens;
    int num_blocks = 0;
    for (int covered = 0; covered < num_tokens; covered += block_size) ++num_blocks;
    request.blocks.resize(num_blocks);
    num_needed += num_blocks;
    step.requests.push_back(request);
  }
  step.num_blocks = num_needed + 3;
  const std::vector<int> blocks = random.distinct(num_needed, num_needed + 3);
  auto next = blocks.begin();
  for (ScheduledRequest& request : step.requests) {
    for (std::int32_t& block : request.blocks) block = *next++;
  }
  step.num_tokens = num_scheduled(step) + random.integer(0, 4);
  return step;
}

/// One request each way, the README's batch, then random ones; the smallest first.
std::vector<Scheduled> batches() {
  std::vector<Scheduled> all = {
      {"a decode", {{2, 1, {5}}}, 4, 8, 1},
      {"a new prompt", {{0, 3, {5}}}, 4, 8, 4},
      {"a chunk of a prompt", {{3, 3, {5, 2}}}, 4, 8, 3},
      {"the README's batch", {{9, 1, {6, 1, 4}}, {4, 5, {2, 8, 5}}, {0, 3, {7}}}, 4, 10, 12},
      {"a request without a new token in the middle",
       {{5, 1, {3, 1}}, {4, 0, {2}}, {0, 6, {6, 0}}},
       4,
       8,
       9},
  };
  int seed = 0;
  for (int block_size : {1, 3, 4, 16}) {
    for (int num_reqs : {1, 2, 5}) all.push_back(random_batch(++seed, num_reqs, block_size));
  }
  const auto is_smaller = [](const Scheduled& a, const Scheduled& b) {
    return a.num_tokens < b.num_tokens;
  };
  std::stable_sort(all.begin(), all.end(), is_smaller);
  return all;
}

std::string describe(const Scheduled& step) {
  std::string text = step.origin + ": block_size " + show(step.block_size) + ", num_tokens " +
                     show(step.num_tokens);
  for (std::size_t i = 0; i < step.requests.size(); ++i) {
    const ScheduledRequest& request = step.requests[i];
    text += "; request " + show(static_cast<int>(i)) + ": computed " +
            show(request.num_computed_tokens) + ", scheduled " +
            show(request.num_scheduled_tokens) + ", blocks " + show(request.blocks);
  }
  return text;
}

/// The right arrays, filled token by token.
CommonAttentionMetadata expected_metadata(const Scheduled& step) {
  CommonAttentionMetadata metadata;
  std::vector<std::vector<std::int32_t>> rows;
  std::int32_t token_idx = 0;
  for (const ScheduledRequest& request : step.requests) {
    std::vector<std::int64_t> slots;  // of every position of the request
    for (std::int32_t block : request.blocks) {
      for (std::int64_t i = 0; i < step.block_size; ++i)
        slots.push_back(block * step.block_size + i);
    }
    for (std::int32_t i = 0; i < request.num_scheduled_tokens; ++i, ++token_idx) {
      metadata.slot_mapping.push_back(slots[request.num_computed_tokens + i]);
    }
    metadata.query_start_loc.push_back(token_idx);
    metadata.seq_lens.push_back(request.num_computed_tokens + request.num_scheduled_tokens);
    rows.push_back(request.blocks);
  }
  for (std::int64_t i = token_idx; i < step.num_tokens; ++i) metadata.slot_mapping.push_back(-1);
  metadata.block_table = BlockTable::from_rows(rows);
  return metadata;
}

/// What pagelab's validate says, or nothing.
std::optional<std::string> sentence_of_validate(const CommonAttentionMetadata& metadata,
                                                const Scheduled& step) {
  KvCacheSpec spec;
  spec.num_blocks = step.num_blocks;
  spec.block_size = step.block_size;
  try {
    validate(metadata, AttnType::kDecoder, step.num_tokens, spec, StepUse::kStoreAndAttend);
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

void check_query_start_loc_of(TaskCheck& task) {
  for (const Scheduled& step : batches()) {
    task.input(step.num_tokens, describe(step),
               "A running total that begins with 0: one entry more than there are requests. What "
               "is in the "
               "cache already is not in this batch.");
    task.expect_equal("query_start_loc", kAnswer.query_start_loc_of(step.requests),
                      expected_metadata(step).query_start_loc);
  }
}

void check_seq_lens_of(TaskCheck& task) {
  for (const Scheduled& step : batches()) {
    task.input(
        step.num_tokens, describe(step),
        "A new token attends to the computed tokens, to the new ones before it, and to itself.");
    task.expect_equal("seq_lens", kAnswer.seq_lens_of(step.requests),
                      expected_metadata(step).seq_lens);
  }
}

void check_slot_mapping_of(TaskCheck& task) {
  for (const Scheduled& step : batches()) {
    task.input(step.num_tokens, describe(step),
               "Positions count within a request, from num_computed_tokens on; each asks its own "
               "request's "
               "blocks. What belongs to no request must be stored nowhere.");
    task.expect_equal("slot_mapping",
                      kAnswer.slot_mapping_of(step.requests, step.block_size, step.num_tokens),
                      expected_metadata(step).slot_mapping);
  }
}

/// The entries that a request's length needs; -99 stands for one outside the table.
std::vector<std::int32_t> needed_blocks(const BlockTable& table,
                                        std::int64_t req_idx,
                                        std::size_t count) {
  std::vector<std::int32_t> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = req_idx * table.max_blocks_per_req + i;
    const bool is_inside =
        static_cast<std::int64_t>(i) < table.max_blocks_per_req && index < table.entries.size();
    blocks.push_back(is_inside ? table.entries[index] : -99);
  }
  return blocks;
}

void check_build_metadata(TaskCheck& task) {
  for (const Scheduled& step : batches()) {
    const CommonAttentionMetadata expected = expected_metadata(step);
    task.input(
        step.num_tokens, describe(step),
        "The block table has a row for each request and as many columns as the longest row needs "
        "for computed and new tokens together; BlockTable::from_rows makes one.");
    const CommonAttentionMetadata got =
        kAnswer.build_metadata(step.requests, step.block_size, step.num_tokens);
    task.expect_equal("query_start_loc", got.query_start_loc, expected.query_start_loc);
    task.expect_equal("seq_lens", got.seq_lens, expected.seq_lens);
    task.expect_equal("slot_mapping", got.slot_mapping, expected.slot_mapping);
    task.expect_equal("block_table.num_reqs", got.block_table.num_reqs,
                      expected.block_table.num_reqs);
    for (std::int64_t req_idx = 0; req_idx < expected.num_reqs(); ++req_idx) {
      const std::vector<std::int32_t>& blocks = step.requests[req_idx].blocks;
      task.expect_equal("block_table, row " + show(req_idx) + ", as far as it is needed:",
                        needed_blocks(got.block_table, req_idx, blocks.size()), blocks);
    }
    const std::optional<std::string> sentence = sentence_of_validate(got, step);
    task.expect(!sentence.has_value(), "a batch that validate accepts", sentence.value_or(""));
  }
}

/// A batch, and what is wrong with it.
struct Broken {
  CommonAttentionMetadata metadata;
  Mistake mistake;
};

/// Gives a batch one mistake, or a harmless oddity for kNone; nothing if the batch has no place for it.
std::optional<Broken> break_batch(const Scheduled& step, Mistake mistake, RandomData& random) {
  CommonAttentionMetadata metadata = expected_metadata(step);
  BlockTable& table = metadata.block_table;
  const int num_reqs = static_cast<int>(metadata.num_reqs());
  const int num_actual = static_cast<int>(metadata.num_actual_tokens());
  const int req_idx = random.integer(0, num_reqs - 1);
  switch (mistake) {
    case Mistake::kNone:
      // Legal: a token that is not stored, and anything at all behind a row's needed entries.
      metadata.slot_mapping[random.integer(0, num_actual - 1)] = kNoSlot;
      for (int i = 0; i < num_reqs; ++i) {
        const std::span<std::int32_t> row = table.row(i);
        std::fill(row.begin() + step.requests[i].blocks.size(), row.end(),
                  random.integer(0, 1) == 0 ? -1 : 1000000);
      }
      break;
    case Mistake::kStartsDecrease:
      if (metadata.query_start_loc[req_idx] == 0) return std::nullopt;
      metadata.query_start_loc[req_idx + 1] = metadata.query_start_loc[req_idx] - 1;
      break;
    case Mistake::kQueryExceedsSequence:
      if (metadata.query_len(req_idx) == 0) return std::nullopt;
      metadata.seq_lens[req_idx] = static_cast<std::int32_t>(metadata.query_len(req_idx)) - 1;
      break;
    case Mistake::kLengthExceedsTable:
      metadata.seq_lens[req_idx] =
          static_cast<std::int32_t>(table.max_blocks_per_req * step.block_size + 1);
      break;
    case Mistake::kBlockOutsidePool: {
      const int needed = static_cast<int>(step.requests[req_idx].blocks.size());
      const std::vector<std::int32_t> outside = {static_cast<std::int32_t>(step.num_blocks),
                                                 kNoBlock, 1000000};
      table.row(req_idx)[random.integer(0, needed - 1)] = outside[random.integer(0, 2)];
      break;
    }
    case Mistake::kSlotDisagrees: {
      std::int64_t& slot = metadata.slot_mapping[random.integer(0, num_actual - 1)];
      slot += slot == 0 ? 1 : -1;
      break;
    }
    case Mistake::kPaddingIsStored:
      if (num_actual == step.num_tokens) return std::nullopt;
      metadata.slot_mapping[random.integer(num_actual, static_cast<int>(step.num_tokens) - 1)] = 0;
      break;
    case Mistake::kSlotTwice: {
      // The last request stores its last token in the first request's block: table and slot agree.
      if (num_reqs < 2) return std::nullopt;
      const std::int64_t position = metadata.seq_lens[num_reqs - 1] - 1;
      const std::int64_t stolen = metadata.slot_mapping[0];
      const bool same_offset = stolen % step.block_size == position % step.block_size;
      if (metadata.query_len(0) == 0 || metadata.query_len(num_reqs - 1) != 1 || !same_offset)
        return std::nullopt;
      table.row(num_reqs - 1)[position / step.block_size] =
          static_cast<std::int32_t>(stolen / step.block_size);
      metadata.slot_mapping[num_actual - 1] = stolen;
      break;
    }
  }
  return Broken{metadata, mistake};
}

std::string describe(const CommonAttentionMetadata& metadata, const Scheduled& step) {
  std::vector<std::vector<std::int32_t>> rows;
  for (std::int64_t req_idx = 0; req_idx < metadata.num_reqs(); ++req_idx) {
    const std::span<const std::int32_t> row = metadata.block_table.row(req_idx);
    rows.emplace_back(row.begin(), row.end());
  }
  return "query_start_loc " + show(metadata.query_start_loc) + ", seq_lens " +
         show(metadata.seq_lens) + ", block_table " + show(rows) + ", slot_mapping " +
         show(metadata.slot_mapping) + ", num_blocks " + show(step.num_blocks) + ", block_size " +
         show(step.block_size);
}

void judge_find_mistake(TaskCheck& task, const Scheduled& step, const Broken& broken) {
  const std::optional<std::string> sentence = sentence_of_validate(broken.metadata, step);
  if (sentence.has_value() != (broken.mistake != Mistake::kNone)) {
    throw std::logic_error("the check is wrong: it says " + to_string(broken.mistake) +
                           ", validate says " + sentence.value_or("nothing"));
  }
  task.input(
      step.num_tokens, describe(broken.metadata, step),
      broken.mistake == Mistake::kNone
          ? "A slot of kNoSlot stores nothing, and entries of a row that its length does not reach "
            "are never read: both are legal."
          : "validate says: " + *sentence);
  const Mistake got = kAnswer.find_mistake(broken.metadata, step.num_blocks, step.block_size);
  task.expect(got == broken.mistake, to_string(broken.mistake), to_string(got));
}

void check_find_mistake(TaskCheck& task) {
  std::vector<Scheduled> steps = batches();
  // Two decodes at the same offset of their blocks, far apart in the batch: one slot can be taken twice.
  steps.push_back({"decodes", {{2, 1, {5}}, {0, 4, {2}}, {6, 1, {0, 3}}}, 4, 8, 7});
  std::stable_sort(steps.begin(), steps.end(), [](const Scheduled& a, const Scheduled& b) {
    return a.num_tokens < b.num_tokens;
  });
  std::vector<int> times_tried(8);
  int seed = 0;
  for (const Scheduled& step : steps) {
    for (int mistake = 0; mistake < 8; ++mistake) {
      for (int repeat = 0; repeat < 4; ++repeat) {
        RandomData random(++seed);
        const std::optional<Broken> broken =
            break_batch(step, static_cast<Mistake>(mistake), random);
        if (!broken.has_value()) continue;
        judge_find_mistake(task, step, *broken);
        ++times_tried[mistake];
      }
    }
  }
  if (std::ranges::find(times_tried, 0) != times_tried.end()) {
    throw std::logic_error("the check is wrong: some mistake was never tried.");
  }
}

}  // namespace
}  // namespace pagelab::lesson_03

int main(int argc, char** argv) {
  using namespace pagelab::lesson_03;
  pagelab::lessons::Checker checker("03", "the contract", kAnswer.path);
  checker.add_task("query_start_loc_of", check_query_start_loc_of);
  checker.add_task("seq_lens_of", check_seq_lens_of);
  checker.add_task("slot_mapping_of", check_slot_mapping_of);
  checker.add_task("build_metadata", check_build_metadata);
  checker.add_task("find_mistake", check_find_mistake);
  return checker.run(argc, argv);
}
