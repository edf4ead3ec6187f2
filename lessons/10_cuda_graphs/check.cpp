// Lesson 10, the check. Tasks 1 and 2 are compared with lines of the golden tables of vLLM's own decisions, task 3 with arrays
// that are counted off row by row. In task 4 the answer's launch is recorded, and replayed for other steps in the
// checked simulator, when the arrays of the recorded step are gone.

#include <algorithm>
#include <string>
#include <vector>

#include "lessons/10_cuda_graphs/answer.h"
#include "lessons/10_cuda_graphs/means_input.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/kernel_check.h"
#include "lessons/checker/random_data.h"
#include "reference/contract/error.h"
#include "simulator/simt/error.h"

namespace pagelab::lesson_10 {
namespace {

using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;
using Mode = CUDAGraphMode;
using Support = AttentionCGSupport;

const Answer kAnswer = on_checked_simulator::answer();

std::string name_of(Mode mode) {
  static const char* const kNames[] = {"NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY",
                                       "FULL_AND_PIECEWISE"};
  return kNames[static_cast<int>(mode)];
}

std::string name_of(Support support) {
  static const char* const kNames[] = {"NEVER", "UNIFORM_SINGLE_TOKEN_DECODE", "UNIFORM_BATCH",
                                       "ALWAYS"};
  return kNames[static_cast<int>(support)];
}

/// What vLLM makes of a mode when a model's weakest group has this support.
struct GoldenMode {
  int id;
  Mode mode;
  Support support;
  int decode_query_len;
  Mode expected;
};

const std::vector<GoldenMode>& golden_modes() {
  static const std::vector<GoldenMode> kLines = {
      {50, Mode::kNone, Support::kNever, 1, Mode::kNone},
      {276, Mode::kPiecewise, Support::kUniformSingleTokenDecode, 1, Mode::kPiecewise},
      {188, Mode::kFull, Support::kAlways, 1, Mode::kFull},
      {123, Mode::kFull, Support::kUniformSingleTokenDecode, 1, Mode::kFullAndPiecewise},
      {264, Mode::kFull, Support::kUniformBatch, 1, Mode::kFullAndPiecewise},
      {184, Mode::kFullDecodeOnly, Support::kNever, 1, Mode::kPiecewise},
      {60, Mode::kFullDecodeOnly, Support::kUniformSingleTokenDecode, 1, Mode::kFullDecodeOnly},
      {81, Mode::kFullAndPiecewise, Support::kNever, 1, Mode::kPiecewise},
      {135, Mode::kFullAndPiecewise, Support::kUniformSingleTokenDecode, 1,
       Mode::kFullAndPiecewise},
      {252, Mode::kFullAndPiecewise, Support::kAlways, 1, Mode::kFullAndPiecewise},
      {45, Mode::kNone, Support::kUniformSingleTokenDecode, 4, Mode::kNone},
      {119, Mode::kPiecewise, Support::kNever, 4, Mode::kPiecewise},
      {12, Mode::kFull, Support::kUniformSingleTokenDecode, 4, Mode::kPiecewise},
      {141, Mode::kFull, Support::kUniformBatch, 4, Mode::kFullAndPiecewise},
      {30, Mode::kFull, Support::kAlways, 4, Mode::kFull},
      {281, Mode::kFullDecodeOnly, Support::kNever, 4, Mode::kPiecewise},
      {309, Mode::kFullDecodeOnly, Support::kUniformBatch, 4, Mode::kFullDecodeOnly},
      {34, Mode::kFullAndPiecewise, Support::kUniformSingleTokenDecode, 4, Mode::kPiecewise},
      {127, Mode::kFullAndPiecewise, Support::kUniformBatch, 4, Mode::kFullAndPiecewise}};
  return kLines;
}

void check_resolve_mode(TaskCheck& task) {
  for (const int num_groups : {1, 2, 3}) {
    for (const GoldenMode& line : golden_modes()) {
      for (int place = 0; place < num_groups; ++place) {
        ModeQuestion question = {line.mode, {}, line.decode_query_len};
        question.supports.assign(num_groups, Support::kAlways);
        question.supports[place] = line.support;
        std::string groups;
        for (const Support support : question.supports) groups += " " + name_of(support);
        task.input(num_groups,
                   "line " + show(line.id) + " of cudagraph_mode.jsonl: " + name_of(line.mode) +
                       " asked for, groups" + groups + ", decodes of " +
                       show(line.decode_query_len) + " tokens",
                   "Find the least of all supports, then apply the rules in their order to one "
                   "variable; each looks at what the others have left in it.");
        const Mode got = kAnswer.resolve_mode(question);
        task.expect(got == line.expected, name_of(line.expected), name_of(got));
      }
    }
  }
}

std::string to_string(const Dispatch& dispatch) {
  std::string text = name_of(dispatch.mode) + ", " + show(dispatch.num_tokens) + " tokens";
  if (dispatch.num_reqs) text += ", " + show(*dispatch.num_reqs) + " requests";
  return text;
}

/// A query of cudagraph_dispatch.jsonl: tokens, whether all are decodes, whether FULL is forbidden, and what runs.
struct GoldenDispatch {
  int id;
  std::int64_t num_tokens;
  bool only_decodes;
  bool uses_cascade;
  Mode mode;
  std::int64_t padded;
};

/// Queries that go to the same graphs.
struct GoldenGraphs {
  RecordedGraphs graphs;
  std::vector<GoldenDispatch> queries;
};

std::vector<GoldenGraphs> golden_graphs() {
  const std::vector<std::int64_t> doubling = {1, 2, 4, 8, 16, 32, 64, 128};
  const std::vector<std::int64_t> default_sizes = {1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64};
  return {
      {{Mode::kFullAndPiecewise, doubling, 64},
       {{0, 2, true, false, Mode::kFull, 2},
        {0, 3, false, false, Mode::kPiecewise, 4},
        {0, 4, true, true, Mode::kPiecewise, 4},
        {0, 8, true, false, Mode::kFull, 8},
        {0, 10, true, false, Mode::kFull, 16},
        {0, 12, false, false, Mode::kPiecewise, 16},
        {0, 32, true, true, Mode::kPiecewise, 32},
        {0, 38, true, false, Mode::kFull, 64},
        {0, 109, true, false, Mode::kPiecewise, 128}}},
      {{Mode::kFullAndPiecewise, {1, 2, 4, 8, 16}, 16},
       {{7, 1, true, false, Mode::kFull, 1},
        {7, 5, true, false, Mode::kFull, 8},
        {7, 10, false, false, Mode::kPiecewise, 16},
        {7, 18, true, false, Mode::kNone, 18}}},
      {{Mode::kFullAndPiecewise, default_sizes, 16},
       {{21, 9, true, false, Mode::kFull, 16},
        {21, 33, true, false, Mode::kPiecewise, 40},
        {21, 51, true, false, Mode::kPiecewise, 56}}},
      {{Mode::kFullDecodeOnly, default_sizes, 64},
       {{22, 10, true, true, Mode::kNone, 10},
        {22, 40, false, false, Mode::kNone, 40},
        {22, 68, true, false, Mode::kNone, 68}}},
      {{Mode::kFullAndPiecewise, doubling, 1},
       {{27, 2, true, false, Mode::kPiecewise, 2}, {27, 95, true, false, Mode::kPiecewise, 128}}},
      {{Mode::kNone, doubling, 4},
       {{37, 3, false, true, Mode::kNone, 3}, {37, 23, true, false, Mode::kNone, 23}}}};
}

/// A batch of so many tokens: decodes, or some decodes beside a longer query.
Batch batch_of(const GoldenDispatch& query) {
  Batch batch;
  batch.uses_cascade = query.uses_cascade;
  const std::int64_t chunk = query.only_decodes ? 0 : 2;
  batch.query_lens.assign(query.num_tokens - chunk, 1);
  if (chunk > 0) batch.query_lens.push_back(chunk);
  return batch;
}

void check_dispatch(TaskCheck& task) {
  std::vector<std::pair<RecordedGraphs, GoldenDispatch>> lines;
  for (const GoldenGraphs& golden : golden_graphs()) {
    for (const GoldenDispatch& query : golden.queries) lines.emplace_back(golden.graphs, query);
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& left, const auto& right) {
    return left.second.num_tokens < right.second.num_tokens;
  });
  for (const auto& [graphs, query] : lines) {
    Dispatch expected = {query.mode, query.padded, std::nullopt};
    if (query.mode == Mode::kFull) expected.num_reqs = query.padded;
    const Batch batch = batch_of(query);
    task.input(
        query.num_tokens,
        "line " + show(query.id) + " of cudagraph_dispatch.jsonl: " + name_of(graphs.mode) +
            ", sizes " + show(graphs.capture_sizes) + ", max_num_seqs " +
            show(graphs.max_num_seqs) + "; query lengths " + show(batch.query_lens) +
            (query.uses_cascade ? ", cascade" : ""),
        "Pad first. A full graph is one of decodes, so every query has one token, no kernels "
        "are exchanged for cascade, and as many requests as it has rows may run. What fits "
        "no graph keeps its own number of tokens.");
    const Dispatch got = kAnswer.dispatch(graphs, batch);
    task.expect(got == expected, to_string(expected), to_string(got));
  }
}

/// A step of random lengths and blocks.
CommonAttentionMetadata random_step(RandomData& random, int num_reqs) {
  CommonAttentionMetadata step;
  step.block_table.num_reqs = num_reqs;
  step.block_table.max_blocks_per_req = 3;
  for (int i = 0; i < num_reqs; ++i) {
    const int query_len = random.integer(1, 3);
    step.query_start_loc.push_back(step.query_start_loc.back() + query_len);
    step.seq_lens.push_back(query_len + random.integer(0, 9));
    for (const int block : random.distinct(3, 40)) step.block_table.entries.push_back(block + 1);
    for (int token = 0; token < query_len; ++token) {
      step.slot_mapping.push_back(random.integer(4, 160));
    }
  }
  return step;
}

void check_padded(TaskCheck& task, const CommonAttentionMetadata& step, const GraphSize& size) {
  const std::int64_t num_reqs = step.num_reqs();
  const auto num_tokens = static_cast<std::int64_t>(step.slot_mapping.size());
  CommonAttentionMetadata expected = step;
  for (std::int64_t i = num_reqs; i < size.num_reqs; ++i) {
    expected.query_start_loc.push_back(static_cast<std::int32_t>(num_tokens));
    expected.seq_lens.push_back(size.padding_seq_len);
    for (int column = 0; column < 3; ++column) expected.block_table.entries.push_back(kNullBlock);
  }
  for (std::int64_t i = num_tokens; i < size.num_tokens; ++i) {
    expected.slot_mapping.push_back(kNoSlot);
  }
  const std::string text =
      show(num_tokens) + " tokens of " + show(num_reqs) + " requests, padded to " +
      show(size.num_tokens) + " and " + show(size.num_reqs) + ", padding_seq_len " +
      show(static_cast<int>(size.padding_seq_len)) + ", random with seed " + show(num_reqs);
  const CommonAttentionMetadata got = kAnswer.pad_step(step, size);
  const auto expect = [&](const char* what, const auto& padded, const auto& right,
                          const std::string& hint) {
    task.input(num_reqs, text, hint);
    task.expect_equal(what, std::vector<std::int64_t>(padded.begin(), padded.end()),
                      std::vector<std::int64_t>(right.begin(), right.end()));
  };
  expect("query_start_loc", got.query_start_loc, expected.query_start_loc,
         "An empty row begins where it ends, so the end of the batch is repeated. Tokens behind "
         "it belong to nobody.");
  expect("seq_lens", got.seq_lens, expected.seq_lens,
         "Some kernels cannot bear a length of 0, so the backend says what they get.");
  expect("slot_mapping", got.slot_mapping, expected.slot_mapping,
         "Whatever lies in the rows of padding must not reach the cache: kNoSlot stores nothing.");
  expect("block_table", got.block_table.entries, expected.block_table.entries,
         "A row of padding has the null block in every column: it is nobody's.");
  task.expect_equal("block_table.num_reqs", got.block_table.num_reqs, size.num_reqs);
}

void check_pad_step(TaskCheck& task) {
  for (const int num_reqs : {1, 2, 3, 5, 8}) {
    RandomData random(num_reqs);
    const CommonAttentionMetadata step = random_step(random, num_reqs);
    const auto num_tokens = static_cast<std::int64_t>(step.slot_mapping.size());
    for (const GraphSize& size : {GraphSize{num_tokens, num_reqs, 0},
                                  {num_tokens + 1, num_reqs, 0},
                                  {num_tokens + 1, num_reqs + 1, 0},
                                  {num_tokens + 4, num_reqs + 3, 1}}) {
      check_padded(task, step, size);
    }
  }
}

/// Records the answer for a step of one request with one token, whose arrays are gone afterwards.
void record_a_small_step(const MeansInput& input, LaunchList& list) {
  const Array<std::int32_t> seq_lens("the recorded step's seq_lens", {1});
  const Array<std::int32_t> block_table("the recorded step's block_table", {1, kNullBlock});
  const Recording recording(list);
  kAnswer.record_means(input.arrays(), {seq_lens.address(), block_table.address(), 1, 2, 1});
}

void check_record_means(TaskCheck& task) {
  for (const MeansSizes& sizes : {MeansSizes{2, 2, 2}, {4, 3, 4}, {40, 2, 16}}) {
    const std::string text = "a graph of " + show(sizes.max_num_reqs) +
                             " requests with tables of " + show(sizes.max_blocks_per_req) +
                             " blocks of " + show(sizes.block_size) + ", random with seed " +
                             show(sizes.max_num_reqs) +
                             ", recorded with a step of one request and one token";
    task.input(sizes.max_num_reqs, text, "Call launch_means, and leave the rest to the replay.");
    MeansInput input(sizes);
    LaunchList list;
    record_a_small_step(input, list);
    task.expect(list.launches().size() == 1, "one launch in the recording",
                show(static_cast<std::int64_t>(list.launches().size())));
    for (const int num_reqs : {1, sizes.max_num_reqs, sizes.max_num_reqs / 2}) {
      const std::vector<std::int32_t> lens = input.write_step(num_reqs);
      task.input(
          sizes.max_num_reqs,
          text + "; replayed for lengths " + show(std::vector<int>(lens.begin(), lens.end())),
          "A pointer must lead to an array that is still there, and that the step was written "
          "into; a number must be right for the largest step that the graph may replay.");
      lessons::launch_soundly(task, [&] {
        try {
          list.replay();
        } catch (const simt::Error& error) {
          throw Error(error.what());
        }
      });
      task.expect_equal("means", input.means(), input.expected());
    }
  }
}

}  // namespace
}  // namespace pagelab::lesson_10

int main(int argc, char** argv) {
  using namespace pagelab::lesson_10;
  pagelab::lessons::Checker checker("10", "CUDA graphs", kAnswer.path);
  checker.add_task("resolve_mode", check_resolve_mode);
  checker.add_task("dispatch", check_dispatch);
  checker.add_task("pad_step", check_pad_step);
  checker.add_task("record_means", check_record_means);
  return checker.run(argc, argv);
}
