// Judges an answer to the exercise of lesson 12. Common prefixes are pagelab's common_prefix_blocks; attention in one
// part is computed here in long double; what a batch takes is counted with pagelab's cascade_traffic, batch size after
// batch size. What an answer may be off by is derived beside each.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lessons/12_cascade_attention/answer.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/random_data.h"
#include "simulator/engine/step/cascade_decision.h"

namespace pagelab::lesson_12 {
namespace {

using lessons::kRoundoff;
using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;
using Tables = std::vector<std::vector<int>>;

const Answer kAnswer = answer();

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

void check_right_counts(TaskCheck& task) {
  const std::vector<Claim> claims = six_claims();
  task.input(1, "six_claims()", "A number for each.");
  const std::vector<int> counts = kAnswer.right_counts();
  task.expect_equal("as many numbers:", static_cast<int>(counts.size()),
                    static_cast<int>(claims.size()));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    task.input(
        1,
        "claim " + show(static_cast<int>(i) + 1) + ": " + claims[i].text + " Tables " +
            show(claims[i].tables),
        "Put the tables of the batch below each other. How many leading columns have one number in "
        "all rows? Who else holds a block, and what it contains, does not matter.");
    task.expect_equal("common blocks:", counts[i],
                      static_cast<int>(common_prefix_blocks(claims[i].tables)));
  }
}

void judge_prefix_len(TaskCheck& task,
                      const Tables& tables,
                      const std::vector<int>& computed,
                      int block_size,
                      const std::string& origin) {
  const int num_common = static_cast<int>(common_prefix_blocks(tables));
  int expected = 0;  // block after block, as long as all of it is before every query
  while (expected < num_common * block_size && std::ranges::all_of(computed, [&](int tokens) {
           return tokens >= expected + block_size;
         })) {
    expected += block_size;
  }
  task.input(
      static_cast<std::int64_t>(tables.size()),
      "tables " + show(tables) + ", num_computed_tokens " + show(computed) + ", block_size " +
          show(block_size) + origin,
      expected == num_common * block_size
          ? "Count the columns that are the same in all rows, from the left to the first that is "
            "not."
          : "Some request has fewer tokens before its query than the common blocks hold, and a "
            "prefix "
            "part without a mask would show it what comes after. Cut there, to whole blocks.");
  task.expect_equal("tokens:", kAnswer.cascade_prefix_len(tables, computed, block_size), expected);
}

void check_cascade_prefix_len(TaskCheck& task) {
  judge_prefix_len(task, {{6, 1, 4}}, {9}, 4, "");
  judge_prefix_len(task, {{6, 1, 4}}, {8}, 4, "");
  judge_prefix_len(task, {{6, 1}, {6, 1}}, {7, 7}, 4, "");
  judge_prefix_len(task, {{6, 1, 4}, {6, 9, 4}}, {11, 11}, 4, "");
  judge_prefix_len(task, {{6, 1}, {1, 6}}, {8, 8}, 4, "");
  judge_prefix_len(task, {{6, 1, 4}, {6, 1, 9, 2}, {6, 1, 7}}, {9, 12, 11}, 4, "");
  judge_prefix_len(task, {{3, 6}, {3, 6}, {2, 6}}, {8, 8, 8}, 4, "");
  for (int seed = 0; seed < 30; ++seed) {
    RandomData random(seed);
    const int block_size = random.integer(1, 5);
    const int num_shared = random.integer(0, 3);
    const std::vector<int> blocks = random.distinct(40, 60);
    Tables tables(3 + seed / 10);
    std::vector<int> computed;
    auto next = blocks.begin() + num_shared;
    for (std::vector<int>& table : tables) {
      table.assign(blocks.begin(), blocks.begin() + num_shared);
      for (int own = random.integer(0, 3); own >= 0; --own) table.push_back(*next++);
      const int most = static_cast<int>(table.size()) * block_size - 1;
      computed.push_back(random.integer(most / 2, most));
    }
    judge_prefix_len(task, tables, computed, block_size, ", random with seed " + show(seed));
  }
}

std::string describe(const StateBase2& prefix, const State& suffix) {
  return "prefix {output " + show(prefix.output) + ", lse_base_2 " + show(prefix.lse_base_2) +
         "}, suffix {output " + show(suffix.output) + ", lse " + show(suffix.lse) + "}";
}

void judge_merge(TaskCheck& task, const StateBase2& prefix, const State& suffix, const char* hint) {
  const std::size_t head_size = suffix.output.size();
  task.input(static_cast<std::int64_t>(head_size), describe(prefix, suffix), hint);
  const State got = kAnswer.merge(prefix, suffix);
  const long double a = prefix.lse_base_2 * std::log(2.0L);
  const long double b = suffix.lse;
  const long double m = std::max(a, b);
  if (std::isinf(m)) {
    task.expect_equal("output", got.output, Row(head_size, 0.0));
    task.expect_equal("lse", got.lse, kMinusInfinity);
    return;
  }
  const long double weight_a = std::isinf(a) ? 0 : std::exp(a - m);
  const long double weight_b = std::isinf(b) ? 0 : std::exp(b - m);
  const auto finite = [](long double lse) {
    return std::isinf(lse) ? 0 : std::abs(static_cast<double>(lse));
  };
  // A weight's exponent: the conversion rounds a constant and a product, the difference once, and whoever takes
  // exponentials of base 2 rounds twice more; the exponential is good to 2 roundoffs. Sum, share, product, sum.
  const double of_weight = kRoundoff * (5 * (finite(a) + finite(b)) + 2);
  const double relative = 2 * (2 * of_weight + 4 * kRoundoff);
  Row output, allowed;
  for (std::size_t d = 0; d < head_size; ++d) {
    const long double from_a = weight_a > 0 ? weight_a * prefix.output[d] : 0;
    const long double from_b = weight_b > 0 ? weight_b * suffix.output[d] : 0;
    output.push_back(static_cast<double>((from_a + from_b) / (weight_a + weight_b)));
    allowed.push_back(relative * static_cast<double>((std::abs(from_a) + std::abs(from_b)) /
                                                     (weight_a + weight_b)));
  }
  task.expect_close("output", got.output, output, allowed);
  const double lse = static_cast<double>(m + std::log(weight_a + weight_b));
  task.expect_close("lse", got.lse, lse, 2 * (of_weight + kRoundoff * (4 + 2 * std::abs(lse))));
}

void check_merge(TaskCheck& task) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const char* const hint =
      "A side weighs as much as its sum of exponentials. Is that of the prefix exp of its number, "
      "or 2 to the "
      "power of it?";
  const char* const hint_empty =
      "An LSE of −∞ says no tokens: that side is left out, whatever its output holds, and −∞ minus "
      "−∞ is NaN.";
  const char* const hint_large =
      "exp(800) is larger than any double. Only the difference of two LSEs is needed.";
  // By hand: three keys of score 0 and value 0, one of score 0 and value 4: 4 / 4 = 1, and ln 4.
  judge_merge(task, {{0}, std::log2(3.0)}, {{4}, 0}, hint);
  judge_merge(task, {{3}, std::log2(8.0)}, {{6}, std::log(4.0)}, hint);  // by hand: 4 and ln 12
  judge_merge(task, {{1}, -3}, {{5}, -3 * std::log(2.0)}, hint);         // by hand: 3
  judge_merge(task, {{nan}, kMinusInfinity}, {{5}, 0.5}, hint_empty);
  judge_merge(task, {{5}, 2}, {{nan}, kMinusInfinity}, hint_empty);
  judge_merge(task, {{nan}, kMinusInfinity}, {{nan}, kMinusInfinity}, hint_empty);
  judge_merge(task, {{1}, 1200}, {{3}, 830}, hint_large);
  judge_merge(task, {{1}, -1200}, {{3}, -830}, hint_large);
  for (const int head_size : {2, 3, 8}) {
    RandomData random(head_size);
    const StateBase2 prefix = {random.numbers(head_size), 5 * random.number()};
    judge_merge(task, prefix, {random.numbers(head_size), 5 * random.number()}, hint);
  }
}

/// A batch whose requests share their first blocks.
struct Batch {
  int block_size;
  int prefix_len;
  std::vector<Decode> decodes;
  std::vector<KeyValue> slots;
};

Batch random_batch(int seed, int num_reqs, int num_shared) {
  RandomData random(seed);
  Batch batch;
  batch.block_size = random.integer(1, 5);
  batch.prefix_len = num_shared * batch.block_size;
  const int head_size = 4;
  const std::vector<int> blocks = random.distinct(60, 70);
  for (int slot = 0; slot < 70 * batch.block_size; ++slot) {
    batch.slots.push_back({random.numbers(head_size), random.numbers(head_size)});
  }
  auto next = blocks.begin() + num_shared;
  for (int i = 0; i < num_reqs; ++i) {
    std::vector<int> table(blocks.begin(), blocks.begin() + num_shared);
    const int num_own = random.integer(1, 3 * batch.block_size);
    for (int covered = 0; covered < num_own; covered += batch.block_size) table.push_back(*next++);
    batch.decodes.push_back({random.numbers(head_size), table, batch.prefix_len + num_own});
  }
  return batch;
}

/// Attention of one request in one part, in long double; all values are within [-1, 1].
Row exact_output(const Batch& batch, const Decode& decode) {
  std::vector<long double> acc(decode.query.size());
  long double l = 0;
  for (int i = 0; i < decode.seq_len; ++i) {
    const int block = decode.table[i / batch.block_size];
    const KeyValue& token = batch.slots[block * batch.block_size + i % batch.block_size];
    long double score = 0;
    for (std::size_t d = 0; d < acc.size(); ++d)
      score += static_cast<long double>(decode.query[d]) * token.key[d];
    const long double p = std::exp(score);  // of at most 4
    l += p;
    for (std::size_t d = 0; d < acc.size(); ++d) acc[d] += p * token.value[d];
  }
  Row output;
  for (const long double element : acc) output.push_back(static_cast<double>(element / l));
  return output;
}

/// Of an output: a score of 4 products within [-1, 1] is off by 5 roundoffs of 4, and its difference to the maximum by 8
/// more; an exponential by 2; n of them are added. That counts in both sums. LSEs are at most 4 + ln n, and
/// judge_merge says what their merge adds.
double allowed_error(int num_tokens) {
  const double of_weight = 5 * 4 + 8 + 2 + num_tokens;
  const double of_merge = 5 * 2 * (4 + std::log(num_tokens)) + 2 + 4;
  return 2 * kRoundoff * (2 * of_weight + 2 * of_merge);
}

void check_cascade_attention(TaskCheck& task) {
  int seed = 0;
  for (const int num_reqs : {1, 2, 3, 8}) {
    for (const int num_shared : {0, 1, 2, 5}) {
      const Batch batch = random_batch(++seed, num_reqs, num_shared);
      const PagedCache cache(batch.block_size, batch.slots);
      int num_own = 0;
      Tables tables;
      std::vector<int> seq_lens;
      for (const Decode& decode : batch.decodes) {
        num_own += decode.seq_len - batch.prefix_len;
        tables.push_back(decode.table);
        seq_lens.push_back(decode.seq_len);
      }
      const std::string input = "prefix_len " + show(batch.prefix_len) + ", block_size " +
                                show(batch.block_size) + ", tables " + show(tables) +
                                ", seq_lens " + show(seq_lens) + ", random with seed " + show(seed);
      task.input(num_reqs, input,
                 "Positions below prefix_len are the prefix's, of all requests; those from "
                 "prefix_len to seq_len "
                 "the request's own. Each token counts once.");
      const std::vector<Row> outputs =
          kAnswer.cascade_attention(batch.decodes, cache, batch.prefix_len);
      task.expect_equal("outputs:", static_cast<int>(outputs.size()), num_reqs);
      for (int i = 0; i < num_reqs; ++i) {
        const Row expected = exact_output(batch, batch.decodes[i]);
        task.expect_close("output of request " + show(i), outputs[i], expected,
                          Row(expected.size(), allowed_error(seq_lens[i])));
      }
      task.input(num_reqs, input, "Read the prefix before the loop over requests, and keep it.");
      task.expect(cache.num_reads() <= batch.prefix_len + num_own,
                  "at most " + show(batch.prefix_len + num_own) + " tokens read: " +
                      show(batch.prefix_len) + " of the prefix and " + show(num_own) + " own",
                  show(cache.num_reads()) + " tokens read");
      task.cost("the last batch: " + show(cache.num_reads()) +
                " tokens read, where plain attention reads " +
                show(num_own + num_reqs * batch.prefix_len) + ".");
    }
  }
}

/// By the README's model, bytes as pagelab counts them.
double gain_us(const Layer& layer, const Gpu& gpu, int num_reqs, int prefix_len, int own_len) {
  CascadeSetting setting;
  setting.num_query_heads = layer.num_query_heads;
  setting.num_kv_heads = layer.num_kv_heads;
  const CascadeTraffic traffic =
      cascade_traffic(num_reqs, prefix_len, own_len, setting, layer.head_size, layer.element_size);
  const double flat = gpu.flat_us + static_cast<double>(traffic.flat_bytes) / gpu.bytes_per_us;
  return flat - (gpu.cascade_us + static_cast<double>(traffic.cascade_bytes) / gpu.bytes_per_us);
}

/// Five batches that were timed (docs/cascade.md): the answer has to say for each which of the two was faster.
void judge_measured(TaskCheck& task, const Layer& layer, const Gpu& gpu) {
  struct Measured {
    int num_reqs, prefix_len;
    double flat_us, cascade_us;
  };
  for (const Measured& one : {Measured{64, 8192, 459, 117},
                              {64, 1024, 93, 82},
                              {8, 8192, 72, 47},
                              {8, 1024, 26, 43},
                              {2, 256, 22, 35}}) {
    const std::string input =
        show(one.num_reqs) + " requests, prefix " + show(one.prefix_len) + ", own 256";
    task.input(1, input,
               "Measured on an H200: flat " + show(one.flat_us) + " us, cascade " +
                   show(one.cascade_us) + " us.");
    const std::optional<int> least = kAnswer.least_requests(layer, gpu, one.prefix_len, 256);
    task.expect_equal("a cascade pays:", least && *least <= one.num_reqs,
                      one.cascade_us < one.flat_us);
  }
}

void check_least_requests(TaskCheck& task) {
  const Layer llama = {32, 8, 128, 2};
  const Layer many_heads = {128, 1, 64,
                            2};  // four partial results of a request outweigh a short prefix
  const Layer small = {4, 1, 64, 2};
  const Gpu no_launches = {4.248e6, 0, 0};
  const Gpu h200 = {4.248e6, 22, 35};
  struct Case {
    const char* text;
    Layer layer;
    Gpu gpu;
    int prefix_len;
    int own_len;
  };
  const std::vector<Case> cases = {
      {"Llama-3-8B, no launches", llama, no_launches, 1024, 256},
      {"Llama-3-8B, no launches, a short prefix", llama, no_launches, 32, 256},
      {"many heads, a short prefix", many_heads, no_launches, 512, 64},
      {"many heads, a longer one", many_heads, no_launches, 600, 64},
      {"4 heads, no launches", small, no_launches, 64, 16},
      {"Llama-3-8B on an H200", llama, h200, 8192, 256},
      {"Llama-3-8B on an H200", llama, h200, 1024, 256},
      {"Llama-3-8B on an H200", llama, h200, 1024, 4096},
      {"Llama-3-8B on an H200", llama, h200, 256, 256},
      {"Llama-3-8B on an H200", llama, h200, 16, 256},
      {"4 heads on an H200", small, h200, 2048, 16}};
  for (const Case& one : cases) {
    std::optional<int> expected;
    for (int num_reqs = 1; num_reqs <= 10'000 && !expected; ++num_reqs) {
      const double gain = gain_us(one.layer, one.gpu, num_reqs, one.prefix_len, one.own_len);
      if (std::abs(gain) < 1e-9) throw std::logic_error("the check is wrong: a tie.");
      if (gain > 0) expected = num_reqs;
    }
    task.input(1,
               std::string(one.text) + ": " + show(one.layer.num_query_heads) + " query heads, " +
                   show(one.layer.num_kv_heads) + " KV heads, head_size " +
                   show(one.layer.head_size) + ", element_size " + show(one.layer.element_size) +
                   ", bytes_per_us " + show(one.gpu.bytes_per_us) + ", flat_us " +
                   show(one.gpu.flat_us) + ", cascade_us " + show(one.gpu.cascade_us) +
                   ", prefix_len " + show(one.prefix_len) + ", own_len " + show(one.own_len),
               "Write both times of the README for n requests, and solve for n. Which terms are in "
               "both? A "
               "request has an output and an LSE of 4 bytes an element and head, from each part, "
               "written and read.");
    const std::optional<int> got =
        kAnswer.least_requests(one.layer, one.gpu, one.prefix_len, one.own_len);
    task.expect(got == expected, expected ? show(*expected) + " requests" : "none",
                got ? show(*got) + " requests" : "none");
  }
  judge_measured(task, llama, h200);
}

}  // namespace
}  // namespace pagelab::lesson_12

int main(int argc, char** argv) {
  using namespace pagelab::lesson_12;
  pagelab::lessons::Checker checker("12", "cascade attention", kAnswer.path);
  checker.add_task("right_counts", check_right_counts);
  checker.add_task("cascade_prefix_len", check_cascade_prefix_len);
  checker.add_task("merge", check_merge);
  checker.add_task("cascade_attention", check_cascade_attention);
  checker.add_task("least_requests", check_least_requests);
  return checker.run(argc, argv);
}
