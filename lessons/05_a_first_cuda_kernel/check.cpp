// Lesson 05, the check. An answer's kernels run in the checked simulator, on inputs of many sizes and with
// their threads in several orders, and are compared with loops. What the simulator says to them is what
// the answer is told; what it counts is judged in tasks 3 and 4, and shown in all.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lessons/05_a_first_cuda_kernel/answer.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/kernel_check.h"
#include "lessons/checker/random_data.h"

namespace pagelab::lesson_05 {
namespace {

using lessons::CheckedArray;
using lessons::CountedLaunches;
using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

const Answer kAnswer = on_checked_simulator::answer();

/// How large an input is.
struct Sizes {
  int num_keys;
  int head_size;

  int count() const { return num_keys * head_size; }
};

/// Random floats of [-1, 1).
Floats random_floats(RandomData& random, int count) {
  const Doubles numbers = random.numbers(count);
  return {numbers.begin(), numbers.end()};
}

std::string describe(const Sizes& sizes) {
  return "num_keys " + show(sizes.num_keys) + ", head_size " + show(sizes.head_size) +
         ", random with seed " + show(sizes.count());
}

/// Judges a result in every order of threads; then counts what it took, in ascending order.
/// \param name      of the result
/// \param launch    with the address where the result is to go
/// \param expected  the result
CountedLaunches judge(TaskCheck& task,
                      const Sizes& sizes,
                      const std::string& hint,
                      const std::string& name,
                      const std::function<void(float* result)>& launch,
                      const Doubles& expected) {
  const int count = static_cast<int>(expected.size());
  task.input(sizes.count(), describe(sizes),
             "A launcher calls `launch`, as those of exercise.h do.");
  const CheckedArray first_result(name, count);
  lessons::expect_a_launch(task, [&] { launch(first_result.on_device()); });
  lessons::in_every_order([&](const std::string& order) {
    task.input(sizes.count(), describe(sizes) + "; " + order, hint);
    const CheckedArray result(name, count);
    lessons::launch_soundly(task, [&] { launch(result.on_device()); });
    task.expect_equal(name, result.values(), expected);
  });
  task.input(sizes.count(), describe(sizes), hint);
  const CheckedArray result(name, count);
  const CountedLaunches counted = lessons::count_launches([&] { launch(result.on_device()); });
  task.cost("num_keys " + show(sizes.num_keys) + ", head_size " + show(sizes.head_size) + ": " +
            lessons::cost_of(counted));
  return counted;
}

/// Expects few sectors: no more than one and a half times what the data fill.
/// \param num_elements  floats that are read or written, each once
void expect_few_sectors(const TaskCheck& task, const CountedLaunches& counted, int num_elements) {
  constexpr int kFloatsPerSector = 8;
  const std::uint64_t filled = static_cast<std::uint64_t>(num_elements / kFloatsPerSector);
  const std::uint64_t allowed = filled + filled / 2;
  task.expect(
      counted.global_sectors() <= allowed,
      "at most " + std::to_string(allowed) + " sectors of global memory; the data fill " +
          std::to_string(filled),
      std::to_string(counted.global_sectors()) + " sectors: " + lessons::sectors_by_line(counted));
}

void check_largest_score(TaskCheck& task) {
  const std::string hint =
      "Whoever reads what another thread has written must have met it at a barrier in between, at "
      "every distance of the tree; and all threads must come to a barrier.";
  for (const int num_keys : {1, 2, 31, 128, 129, 300, 1000}) {
    RandomData random(num_keys);
    Floats scores = random_floats(random, num_keys);
    for (float& score : scores) score -= 1.0f;  // none above 0
    const CheckedArray scores_array("scores", scores);
    const double largest = *std::max_element(scores.begin(), scores.end());
    judge(task, {num_keys, 1}, hint, "largest",
          [&](float* result) {
            kAnswer.largest_score({scores_array.on_device(), result, num_keys});
          },
          {largest});
  }
}

void check_shared_query(TaskCheck& task) {
  const std::string hint =
      "A thread without a key has nothing to compute, but it is expected at the barrier, and what "
      "it was to fetch of the query is needed by the others.";
  const float scale = 0.25f;
  for (const Sizes& sizes : {Sizes{1, 1}, {3, 2}, {1, 256}, {128, 5}, {129, 8}, {300, 40}}) {
    RandomData random(sizes.count());
    const Floats query = random_floats(random, sizes.head_size);
    const Floats keys = random_floats(random, sizes.count());
    const CheckedArray query_array("query", query);
    const CheckedArray keys_array("keys", keys);
    Doubles expected;
    for (int key_idx = 0; key_idx < sizes.num_keys; ++key_idx) {
      const float* key = &keys[key_idx * sizes.head_size];
      float dot = 0;
      for (int d = 0; d < sizes.head_size; ++d) dot += query[d] * key[d];
      expected.push_back(dot * scale);
    }
    judge(
        task, sizes, hint, "scores",
        [&](float* result) {
          kAnswer.shared_query({query_array.on_device(), keys_array.on_device(), result,
                                sizes.num_keys, sizes.head_size, scale});
        },
        expected);
  }
}

void check_weighted_values(TaskCheck& task) {
  const std::string hint =
      "Let lane i + 1 take the element behind that of lane i: a thread for each element, not for "
      "each row. A quotient says which key an element belongs to.";
  for (const Sizes& sizes : {Sizes{1, 1}, {2, 3}, {5, 8}, {3, 70}, {40, 40}, {33, 128}}) {
    RandomData random(sizes.count());
    const Floats weights = random_floats(random, sizes.num_keys);
    const Floats values = random_floats(random, sizes.count());
    const CheckedArray weights_array("weights", weights);
    const CheckedArray values_array("values", values);
    Doubles expected;
    for (int i = 0; i < sizes.count(); ++i) {
      expected.push_back(weights[i / sizes.head_size] * values[i]);
    }
    const CountedLaunches counted = judge(
        task, sizes, hint, "weighted",
        [&](float* result) {
          kAnswer.weighted_values({weights_array.on_device(), values_array.on_device(), result,
                                   sizes.num_keys, sizes.head_size});
        },
        expected);
    // Small inputs lie in a few sectors, however they are read.
    if (sizes.num_keys < 32) continue;
    expect_few_sectors(task, counted, 2 * sizes.count());
  }
}

void check_transposed_keys(TaskCheck& task) {
  const std::string hint =
      "Word i of shared memory is in bank i mod 32. The words of a column are as far apart as a "
      "row is long: which length of a row puts 32 of them into 32 banks?";
  for (const Sizes& sizes : {Sizes{1, 1}, {2, 3}, {31, 33}, {64, 32}, {70, 100}}) {
    RandomData random(sizes.count());
    const Floats keys = random_floats(random, sizes.count());
    const CheckedArray keys_array("keys", keys);
    Doubles expected;
    for (int i = 0; i < sizes.count(); ++i) {
      const int d = i / sizes.num_keys;
      const int key_idx = i % sizes.num_keys;
      expected.push_back(keys[key_idx * sizes.head_size + d]);
    }
    const CountedLaunches counted = judge(
        task, sizes, hint, "transposed",
        [&](float* result) {
          kAnswer.transposed_keys(
              {keys_array.on_device(), result, sizes.num_keys, sizes.head_size});
        },
        expected);
    if (sizes.num_keys < kTileSize) continue;
    expect_few_sectors(task, counted, 2 * sizes.count());
    task.expect(counted.bank_conflicts() == 0, "no bank conflicts",
                std::to_string(counted.bank_conflicts()) +
                    " of them: " + lessons::conflicts_by_line(counted));
  }
}

}  // namespace
}  // namespace pagelab::lesson_05

int main(int argc, char** argv) {
  using namespace pagelab::lesson_05;
  pagelab::lessons::Checker checker("05", "a first CUDA kernel",
                                    on_checked_simulator::answer().path);
  checker.add_task("largest_score", check_largest_score);
  checker.add_task("shared_query", check_shared_query);
  checker.add_task("weighted_values", check_weighted_values);
  checker.add_task("transposed_keys", check_transposed_keys);
  return checker.run(argc, argv);
}
