// Lesson 06, the check. An answer's kernels run in the checked simulator, on inputs of many sizes and with
// their threads in several orders; a result must have the same bits in all of them. What a result may be
// off by is derived beside each task. The sectors that tasks 1, 2 and 4 move are judged, too.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lessons/06_decode_ladder/answer.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/kernel_check.h"
#include "lessons/checker/random_data.h"

namespace pagelab::lesson_06 {
namespace {

using lessons::CheckedArray;
using lessons::CheckedInput;
using lessons::CountedLaunches;
using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

const Answer kAnswer = on_checked_simulator::answer();

/// Unit roundoff of float.
constexpr double kRoundoff = 0x1p-24;
/// What vanishes when a float becomes subnormal, or below what exact_exp2 gives 0.
constexpr double kTiny = 0x1p-120;

/// Numbers that are right, and how far off an answer may be.
struct Expected {
  std::string name;
  Doubles values;
  Doubles allowed;
};

/// How large an input is.
struct Sizes {
  int num_keys;
  int head_size;
  int block_size;
};

std::string describe(const Sizes& sizes) {
  return "num_keys " + show(sizes.num_keys) + ", head_size " + show(sizes.head_size) +
         ", block_size " + show(sizes.block_size) + ", random with seed " + show(sizes.num_keys);
}

Floats random_floats(RandomData& random, int count, double factor = 1) {
  Floats floats;
  for (const double number : random.numbers(count)) {
    floats.push_back(static_cast<float>(factor * number));
  }
  return floats;
}

/// A paged cache of one request in random blocks. All slots that are not the request's hold NaN.
struct PagedInput {
  PagedInput(RandomData& random, const Sizes& sizes, const std::string& name)
      : table(make_table(random, sizes)), rows(sizes.num_keys), sizes(sizes) {
    const int num_slots = 3 * static_cast<int>(table.size()) * sizes.block_size;
    Floats cache(num_slots * sizes.head_size, std::numeric_limits<float>::quiet_NaN());
    for (int i = 0; i < sizes.num_keys; ++i) {
      rows[i] = random_floats(random, sizes.head_size);
      const int slot = table[i / sizes.block_size] * sizes.block_size + i % sizes.block_size;
      std::copy(rows[i].begin(), rows[i].end(), cache.begin() + slot * sizes.head_size);
    }
    cache_array = std::make_unique<CheckedInput>(name, cache);
    table_array = std::make_unique<CheckedInput>("block_table", table);
  }
  static std::vector<int> make_table(RandomData& random, const Sizes& sizes) {
    const int num_blocks = (sizes.num_keys + sizes.block_size - 1) / sizes.block_size;
    return random.distinct(num_blocks, 3 * num_blocks);
  }
  PagedRows on_device() const {
    return {cache_array->as<float>(), table_array->as<int>(), sizes.block_size, sizes.head_size};
  }

  std::vector<int> table;
  std::vector<Floats> rows;  // [num_keys][head_size]
  Sizes sizes;
  std::unique_ptr<CheckedInput> cache_array;
  std::unique_ptr<CheckedInput> table_array;
};

/// Judges results in every order of threads; then counts what they took, in ascending order.
/// \param launch    with the addresses where the results are to go
/// \param expected  the results
CountedLaunches judge(TaskCheck& task,
                      std::int64_t size,
                      const std::string& input,
                      const std::string& hint,
                      const std::function<void(const std::vector<float*>& results)>& launch,
                      const std::vector<Expected>& expected) {
  const auto with_results = [&](const auto& use) {
    std::vector<std::unique_ptr<CheckedArray>> arrays;
    std::vector<float*> addresses;
    for (const Expected& one : expected) {
      const int count = static_cast<int>(one.values.size());
      arrays.push_back(std::make_unique<CheckedArray>(one.name, count));
      addresses.push_back(arrays.back()->on_device());
    }
    use(arrays, addresses);
  };
  task.input(size, input, "A launcher calls `launch`, as those of exercise.h do.");
  with_results([&](const auto&, const std::vector<float*>& addresses) {
    lessons::expect_a_launch(task, [&] { launch(addresses); });
  });
  std::vector<Doubles> before;
  lessons::in_every_order([&](const std::string& order) {
    task.input(size, input + "; " + order, hint);
    with_results([&](const auto& arrays, const std::vector<float*>& addresses) {
      lessons::launch_soundly(task, [&] { launch(addresses); });
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const Doubles got = arrays[i]->values();
        if (expected[i].allowed.empty()) {
          task.expect_equal(expected[i].name, got, expected[i].values);
        } else {
          task.expect_close(expected[i].name, got, expected[i].values, expected[i].allowed);
        }
        if (before.size() < expected.size()) {
          before.push_back(got);
        } else {
          task.expect(got == before[i], "the bits of threads in ascending order", "other bits");
        }
      }
    });
  });
  task.input(size, input, hint);
  CountedLaunches counted;
  with_results([&](const auto&, const std::vector<float*>& addresses) {
    counted = lessons::count_launches([&] { launch(addresses); });
  });
  task.cost(input.substr(0, input.find(", random")) + ": " + lessons::cost_of(counted));
  return counted;
}

/// Expects that a launch moved few sectors.
/// \param needed  those that keys or values fill; queries, scores and the block table come on top
void expect_few_sectors(const TaskCheck& task, const CountedLaunches& counted, int needed) {
  const std::uint64_t sectors = counted.global_sectors();
  task.expect(sectors <= 3 * static_cast<std::uint64_t>(needed),
              "at most " + show(3 * needed) + " sectors of global memory, three times the " +
                  show(needed) + " that the rows of the cache fill",
              std::to_string(sectors) + " sectors: " + lessons::sectors_by_line(counted));
}

/// Scores of one query: products in any order, each term rounded head_size + 2 times at most; twice that,
/// for what is of second order.
void append_scores(Expected& expected, const float* query, const PagedInput& keys, float scale) {
  const int head_size = keys.sizes.head_size;
  for (const Floats& key : keys.rows) {
    double dot = 0;
    double magnitude = 0;
    for (int d = 0; d < head_size; ++d) {
      const double product = static_cast<double>(query[d]) * key[d];
      dot += product;
      magnitude += std::abs(product);
    }
    expected.values.push_back(dot * scale);
    expected.allowed.push_back(2 * (head_size + 2) * kRoundoff * magnitude * scale + kTiny);
  }
}

void check_warp_scores(TaskCheck& task) {
  const std::string hint =
      "Lane i multiplies elements i, i + 32, ... of one key. Then the 32 parts are added up by "
      "shuffles, to which all lanes must come, and one lane writes the score.";
  const float scale = 0.25f;
  for (const Sizes& sizes :
       {Sizes{1, 1, 1}, {2, 32, 1}, {3, 33, 2}, {5, 7, 4}, {9, 64, 4}, {70, 100, 16}}) {
    RandomData random(sizes.num_keys);
    const Floats query = random_floats(random, sizes.head_size);
    const PagedInput keys(random, sizes, "keys");
    const CheckedInput query_array("query", query);
    Expected expected{"scores", {}, {}};
    append_scores(expected, query.data(), keys, scale);
    const CountedLaunches counted =
        judge(task, sizes.num_keys, describe(sizes), hint,
              [&](const std::vector<float*>& results) {
                kAnswer.warp_scores(
                    {query_array.as<float>(), keys.on_device(), sizes.num_keys, scale, results[0]});
              },
              {expected});
    // Small inputs lie in a few sectors, however they are read.
    if (sizes.num_keys >= 32)
      expect_few_sectors(task, counted, sizes.num_keys * sizes.head_size / 8);
  }
}

/// m, l and acc of the keys first … end - 1, as exact as doubles allow, and what they may be off by: an
/// exponential's argument is rounded three times, relative to its distance from m; the exponential is
/// good to 2 roundoffs; n terms are added. Twice that, for what is of second order.
void append_state(std::vector<Expected>& expected,
                  const Floats& scores,
                  const PagedInput& values,
                  int first,
                  int end) {
  const auto [low, high] = std::minmax_element(scores.begin() + first, scores.begin() + end);
  const double m = *high;
  const double error = 2 * (3 * (m - *low) + 4 + (end - first)) * kRoundoff;
  double l = 0;
  Doubles acc(values.sizes.head_size), magnitude = acc;
  for (int i = first; i < end; ++i) {
    const double p = std::exp(scores[i] - m);
    l += p;
    for (int d = 0; d < values.sizes.head_size; ++d) {
      acc[d] += p * values.rows[i][d];
      magnitude[d] += p * std::abs(values.rows[i][d]);
    }
  }
  expected[0].values.push_back(m);
  expected[1].values.push_back(l);
  expected[1].allowed.push_back(error * l);
  for (int d = 0; d < values.sizes.head_size; ++d) {
    expected[2].values.push_back(acc[d]);
    expected[2].allowed.push_back(error * magnitude[d] + kTiny);
  }
}

void check_partition_states(TaskCheck& task) {
  const std::string hint =
      "Thread block p begins at key 64 p and has 64 keys, or as many as are left. What it leaves "
      "depends on these keys alone: its own maximum, the sum and the values under that maximum, "
      "and "
      "no division.";
  for (const Sizes& sizes : {Sizes{1, 1, 1},
                             {5, 3, 2},
                             {63, 8, 16},
                             {64, 8, 16},
                             {65, 3, 16},
                             {128, 40, 16},
                             {200, 130, 16}}) {
    RandomData random(sizes.num_keys);
    Floats scores = random_floats(random, sizes.num_keys, 40);
    for (float& score : scores) score -= 50;  // none reaches 0, where a careless maximum begins
    const PagedInput values(random, sizes, "values");
    const CheckedInput scores_array("scores", scores);
    std::vector<Expected> expected = {{"m", {}, {}}, {"l", {}, {}}, {"acc", {}, {}}};
    for (int first = 0; first < sizes.num_keys; first += kKeysPerPartition) {
      append_state(expected, scores, values, first,
                   std::min(first + kKeysPerPartition, sizes.num_keys));
    }
    const CountedLaunches counted = judge(
        task, sizes.num_keys, describe(sizes), hint,
        [&](const std::vector<float*>& results) {
          kAnswer.partition_states({scores_array.as<float>(), values.on_device(), sizes.num_keys,
                                    results[0], results[1], results[2]});
        },
        expected);
    if (sizes.num_keys >= 128) {
      expect_few_sectors(task, counted, sizes.num_keys * sizes.head_size / 8);
    }
  }
}

/// What partitions left; their maxima are the input's own.
struct States {
  Floats maxima;
  Floats sums;
  Floats outputs;  // [num_partitions, head_size]
};

States random_states(RandomData& random, const Floats& maxima, int head_size) {
  States states;
  states.maxima = maxima;
  for (const float m : maxima) {
    const bool is_empty = std::isinf(m);
    states.sums.push_back(is_empty ? 0 : 1 + std::abs(static_cast<float>(random.number())));
    for (const float element : random_floats(random, head_size)) {
      states.outputs.push_back(is_empty ? 0 : element);
    }
  }
  return states;
}

/// Of a weight three roundings of its distance from the largest maximum and 2 of the exponential, in the
/// sum above and in that below, and one for each partition; a division. Twice that, for what is of second
/// order. Of the LSE, the error of the sum below, the logarithm's (2 roundoffs) and the addition's.
std::vector<Expected> reduced(const States& states, int head_size) {
  std::vector<Expected> expected = {{"output", Doubles(head_size), Doubles(head_size)},
                                    {"lse", {}, {}}};
  const double m = *std::max_element(states.maxima.begin(), states.maxima.end());
  if (std::isinf(m)) {
    expected[0].allowed.clear();
    expected[1].values = {m};
    return expected;
  }
  double l = 0;
  double slope = 0;  // of l by an error of an exponent
  for (std::size_t i = 0; i < states.maxima.size(); ++i) {
    const double weight = std::exp(states.maxima[i] - m);
    l += weight * states.sums[i];
    if (weight > 0) slope += weight * states.sums[i] * (m - states.maxima[i]);
  }
  const double num_partitions = static_cast<double>(states.maxima.size());
  const double error_of_l = (3 * slope / l + 4 + num_partitions) * kRoundoff;
  for (int d = 0; d < head_size; ++d) {
    for (std::size_t i = 0; i < states.maxima.size(); ++i) {
      const double weight = std::exp(states.maxima[i] - m);
      if (weight == 0) continue;
      const double term = weight * states.outputs[i * head_size + d] / l;
      const double distance = m - states.maxima[i];
      const double error = (3 * distance + 4 + num_partitions) * kRoundoff + error_of_l + kRoundoff;
      expected[0].values[d] += term;
      expected[0].allowed[d] += 2 * error * std::abs(term) + kTiny;
    }
  }
  const double lse = m + std::log(l);
  expected[1].values = {lse};
  expected[1].allowed = {2 *
                         (error_of_l + (2 * std::abs(std::log(l)) + std::abs(lse)) * kRoundoff)};
  return expected;
}

void check_reduce_partitions(TaskCheck& task) {
  const float none = -std::numeric_limits<float>::infinity();
  const std::string hint =
      "Lesson 04: with m the largest of all maxima, partition i weighs exp(m_i - m), in the sum of "
      "l "
      "and in the sum of acc.";
  const std::string hint_none =
      "A partition without a visible key has m = -infinity and weighs 0. If all are such, "
      "-infinity "
      "minus -infinity is NaN: the output is zeros, and the LSE -infinity.";
  struct Case {
    Floats maxima;
    int head_size;
    std::string hint;
  };
  for (const auto& [maxima, head_size, case_hint] :
       std::vector<Case>{{{-2}, 1, hint},
                         {{none}, 3, hint_none},
                         {{-1000}, 3, hint},
                         {{1, 3}, 2, hint},
                         {{200, -1}, 3, hint},
                         {{none, none}, 3, hint_none},
                         {{none, -300, -302}, 5, hint_none},
                         {{7, 5, none, 9, 8.5f}, 40, hint},
                         {{-5, 2, 3, none, 1, 0, 4}, 130, hint}}) {
    const int num_partitions = static_cast<int>(maxima.size());
    RandomData random(num_partitions);
    const States states = random_states(random, maxima, head_size);
    const CheckedInput maxima_array("maxima", states.maxima);
    const CheckedInput sums_array("sums", states.sums);
    const CheckedInput outputs_array("outputs", states.outputs);
    judge(
        task, num_partitions,
        "maxima " + show(Doubles(maxima.begin(), maxima.end())) + ", head_size " + show(head_size) +
            ", random with seed " + show(num_partitions),
        case_hint,
        [&](const std::vector<float*>& results) {
          kAnswer.reduce_partitions({maxima_array.as<float>(), sums_array.as<float>(),
                                     outputs_array.as<float>(), num_partitions, head_size,
                                     results[0], results[1]});
        },
        reduced(states, head_size));
  }
}

void check_group_scores(TaskCheck& task) {
  const std::string hint =
      "One warp a key: four sums a lane, one for each query. Keep the queries where they need not "
      "be "
      "loaded again for each key: in shared memory.";
  const float scale = 0.5f;
  for (const Sizes& sizes : {Sizes{1, 1, 1}, {2, 33, 2}, {5, 64, 4}, {70, 128, 16}}) {
    RandomData random(sizes.num_keys);
    const Floats queries = random_floats(random, kHeadsPerGroup * sizes.head_size);
    const PagedInput keys(random, sizes, "keys");
    const CheckedInput queries_array("queries", queries);
    Expected expected{"scores", {}, {}};
    for (int h = 0; h < kHeadsPerGroup; ++h) {
      append_scores(expected, &queries[h * sizes.head_size], keys, scale);
    }
    const CountedLaunches counted =
        judge(task, sizes.num_keys, describe(sizes), hint,
              [&](const std::vector<float*>& results) {
                kAnswer.group_scores({queries_array.as<float>(), keys.on_device(), sizes.num_keys,
                                      scale, results[0]});
              },
              {expected});
    if (sizes.num_keys >= 32)
      expect_few_sectors(task, counted, sizes.num_keys * sizes.head_size / 8);
  }
}

}  // namespace
}  // namespace pagelab::lesson_06

int main(int argc, char** argv) {
  using namespace pagelab::lesson_06;
  pagelab::lessons::Checker checker("06", "decode ladder", on_checked_simulator::answer().path);
  checker.add_task("warp_scores", check_warp_scores);
  checker.add_task("partition_states", check_partition_states);
  checker.add_task("reduce_partitions", check_reduce_partitions);
  checker.add_task("group_scores", check_group_scores);
  return checker.run(argc, argv);
}
