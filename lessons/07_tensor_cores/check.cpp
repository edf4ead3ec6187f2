// Lesson 07, the check. What is right for tasks 2 and 3 comes from the simulator's tensor core, whose bits
// are an H200's (docs/tensor_cores.md), or was worked out by hand where a comment says so; every comparison is
// one of bits. Kernels run in the checked simulator, with their threads in several orders.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "lessons/07_tensor_cores/answer.h"
#include "lessons/checker/checker.h"
#include "lessons/checker/kernel_check.h"
#include "lessons/checker/random_data.h"
#include "simulator/simt/tensor_core.h"

namespace pagelab::lesson_07 {
namespace {

using lessons::CheckedArray;
using lessons::CheckedInput;
using lessons::CountedLaunches;
using lessons::RandomData;
using lessons::show;
using lessons::TaskCheck;
using Doubles = std::vector<double>;
using Halves = std::vector<std::uint16_t>;

const Answer kAnswer = on_checked_simulator::answer();

/// The bits of a bfloat16. Every number here is one exactly.
std::uint16_t bf16(double value) { return round_to<BFloat16>(value).bits; }

double value_of(std::uint16_t bits) { return decode(BFloat16{bits}); }

/// "1.5 · 2^-3", as one reads off a significand and an exponent.
std::string show_scaled(double value) {
  if (value == 0) return std::signbit(value) ? "-0" : "0";
  if (!std::isfinite(value)) return show(value);
  int exponent = 0;
  const double significand = 2 * std::frexp(value, &exponent);
  const std::string digits = lessons::show_all_digits(significand);
  return exponent == 1 ? digits : digits + " · 2^" + show(exponent - 1);
}

std::string show_parts(const Parts& parts) {
  return std::string(parts.is_negative ? "-" : "+") + show(parts.significand) + " · 2^(" +
         show(parts.exponent) + " - " + show(parts.fraction_bits) + ")";
}

void check_product_of(TaskCheck& task) {
  const std::string hint =
      "A bfloat16 is its sign, 8 bits of exponent + 127, and 7 bits behind the point of a "
      "significand "
      "that begins with 1. Signs, significands and exponents are treated each for itself.";
  const std::string hint_zero = "0 has no 1 before the point: the product's significand is 0.";
  struct Case {
    double a, b;
    Parts expected;  // by hand
    std::string hint;
  };
  const int one = 128 * 128;
  const std::vector<Case> cases = {
      {1, 1, {false, one, 0, 14}, hint},
      {1, 4, {false, one, 2, 14}, hint},
      {-0.125, 4, {true, one, -1, 14}, hint},
      {-2, -2, {false, one, 2, 14}, hint},
      {1.5, 1, {false, 192 * 128, 0, 14}, hint},
      // 2.25, which stays with the exponent 0.
      {1.5, 1.5, {false, 192 * 192, 0, 14}, hint + " Neither is adjusted to the other."},
      {-1.9921875, 0x1p-20, {true, 255 * 128, -20, 14}, hint},
      {0, 3, {false, 0, 0, 14}, hint_zero},
      {3, 0, {false, 0, 0, 14}, hint_zero}};
  std::int64_t size = 0;
  for (const auto& [a, b, expected, case_hint] : cases) {
    task.input(++size, "a " + show(a) + ", b " + show(b), case_hint);
    const Parts got = kAnswer.product_of(bf16(a), bf16(b));
    const bool is_zero = expected.significand == 0 && got.significand == 0;
    task.expect(
        is_zero ||
            (got.is_negative == expected.is_negative && got.significand == expected.significand &&
             got.exponent == expected.exponent && got.fraction_bits == expected.fraction_bits),
        show_parts(expected), show_parts(got));
  }
}

/// A row of A, a column of B and an accumulator.
struct Terms {
  Halves a = Halves(16, 0);
  Halves b = Halves(16, 0);
  float c = 0;

  /// Products that are given as pairs of operands; the rest is zeros.
  Terms(float accumulator, const std::vector<std::pair<double, double>>& operands)
      : c(accumulator) {
    for (std::size_t k = 0; k < operands.size(); ++k) {
      a[k] = bf16(operands[k].first);
      b[k] = bf16(operands[k].second);
    }
  }
};

void judge_element(TaskCheck& task,
                   std::int64_t size,
                   const Terms& terms,
                   const std::string& origin,
                   const std::string& hint) {
  std::string products;
  for (int k = 0; k < 16; ++k) {
    if (terms.a[k] == 0 && terms.b[k] == 0) continue;
    const double a = value_of(terms.a[k]), b = value_of(terms.b[k]);
    products += ", (" + show_scaled(a) + ") · (" + show_scaled(b) + ")";
  }
  task.input(size, "c " + show_scaled(terms.c) + products + origin, hint);
  const float expected = simt::mma_by_the_rules(terms.a.data(), terms.b.data(), 16, terms.c,
                                                simt::MmaInput::kBFloat16);
  const float got = kAnswer.mma_element(terms.a.data(), terms.b.data(), terms.c);
  task.expect(bits_of(got) == bits_of(expected), show_scaled(expected), show_scaled(got));
}

/// Random operands, with exponents of ±spread.
Terms random_terms(RandomData& random, int spread) {
  const auto scaled = [&](double number, int bits) {
    return std::ldexp(std::round(std::ldexp(number, bits)), random.integer(-spread, spread) - bits);
  };
  Terms terms(static_cast<float>(scaled(random.number(), 22)), {});
  for (int k = 0; k < 16; ++k) {
    terms.a[k] = bf16(scaled(random.number(), 7));
    terms.b[k] = bf16(scaled(random.number(), 7));
  }
  return terms;
}

void check_mma_element(TaskCheck& task) {
  const std::string hint =
      "E is the largest exponent of c and the products. Each of the 17 terms becomes an integer "
      "number "
      "of 2^(E - 25); these are added; the sum is cut off to a float once, at the end.";
  const std::string hint_zero =
      "A zero has no exponent: it takes no part when E is looked for, whatever the other operand "
      "is.";
  const std::string hint_cut =
      "Bits below 2^(E - 25) are cut off, those of the sum below the 24 of a float as well. "
      "Nothing is "
      "rounded up, and of a negative number the magnitude is cut.";
  const std::string hint_exponent =
      "A product's exponent is the sum of its operands' exponents, even where the product is 2 or "
      "more.";
  const std::string hint_one_sum =
      "c and all 16 products are terms of one sum; nothing is cut to a float in between.";
  judge_element(task, 0, Terms(0, {}), "", hint_zero);
  judge_element(task, 0, Terms(1.5, {}), "", hint);
  judge_element(task, 1, Terms(0, {{1.5, 1.5}}), "", hint_exponent);
  judge_element(task, 1, Terms(-3, {{1.5, 0.5}}), "", hint);
  // The exponent field of 0 says -127. With 2^120 that makes -7, and c would be cut off. By hand: c.
  judge_element(task, 1, Terms(0x1p-60f, {{0, 0x1p120}}), "", hint_zero);
  // By hand: 2^25 + 3 units, of which a float keeps 2^25.
  judge_element(task, 1, Terms(1, {{1.5, 0x1p-24}}), "", hint_cut);
  judge_element(task, 1, Terms(-1, {{1.5, -0x1p-24}}), "", hint_cut);
  // By hand: 2^25 + 2 + 2 units make 1 + 2^-23, where a float would have lost each 2^-24.
  judge_element(task, 2, Terms(1, {{1, 0x1p-24}, {1, 0x1p-24}}), "", hint_one_sum);
  // By hand: 1 - 1 leaves one unit; below it nothing is left, not even of a negative number.
  judge_element(task, 2, Terms(0x1p-25f, {{1, 1}, {1, -1}}), "", hint);
  judge_element(task, 2, Terms(0x1p-26f, {{1, 1}, {1, -1}}), "", hint_cut);
  judge_element(task, 2, Terms(-0x1p-26f, {{1, 1}, {1, -1}}), "", hint_cut);
  // By hand: E is 0, the exponent of 1.5 · 1.5, so that 2^-25 is kept. With E = 1 it would be lost.
  judge_element(task, 2, Terms(0x1p-25f, {{1.5, 1.5}, {1.5, -1.5}}), "", hint_exponent);
  // By hand: the large products cancel. In two sums of 8, or with c added last, 2^-20 would be lost first.
  std::vector<std::pair<double, double>> far_apart(16, {0, 0});
  far_apart[0] = {16, 16};
  far_apart[15] = {-16, 16};
  judge_element(task, 16, Terms(0x1p-17f, far_apart), "", hint_one_sum);
  // By hand: sixteen times half a unit is nothing.
  judge_element(task, 16, Terms(1, std::vector<std::pair<double, double>>(16, {1, 0x1p-26})), "",
                hint_cut);
  for (const int spread : {0, 2, 6, 12}) {
    RandomData random(spread + 1);
    for (int i = 0; i < 200; ++i) {
      judge_element(task, 16, random_terms(random, spread),
                    " (random with seed " + show(spread + 1) + ")", hint);
    }
  }
}

void check_multiply_tile(TaskCheck& task) {
  const std::string hint =
      "Lane 4 · group + pair has of A rows group and group + 8, of B column group, of both the k's "
      "2 · "
      "pair, 2 · pair + 1 and those 8 further on; gpu/device/mma.h draws it. The lower index goes "
      "into the lower half of a register.";
  for (const bool is_random : {false, true}) {
    std::uint16_t a[16][16] = {}, b[16][8] = {};
    float c[16][8] = {}, d[16][8];
    RandomData random(7);
    for (int k = 0; k < 16; ++k) {
      // First a single element of each row: A(row, k) = row + 1 where k = 15 - row, B(k, column) = 16 · k
      // + column.
      for (int row = 0; row < 16; ++row) {
        const double single = k == 15 - row ? row + 1 : 0;
        a[row][k] = bf16(is_random ? random.number() : single);
      }
      for (int column = 0; column < 8; ++column) {
        b[k][column] = bf16(is_random ? random.number() : 16 * k + column);
        c[k][column] = is_random ? static_cast<float>(random.number()) : 0;
      }
    }
    simt::mma_m16n8k16(a, b, c, d, simt::MmaInput::kBFloat16);
    const CheckedInput a_array("a", Halves(&a[0][0], &a[0][0] + 256));
    const CheckedInput b_array("b", Halves(&b[0][0], &b[0][0] + 128));
    const CheckedInput c_array("c", std::vector<float>(&c[0][0], &c[0][0] + 128));
    const std::string input =
        is_random ? "random tiles with seed 7"
                  : "A(row, 15 - row) = row + 1, else 0; B(k, column) = 16 k + column; C = 0";
    const auto launch = [&](const CheckedArray& result) {
      kAnswer.multiply_tile({a_array.as<std::uint16_t>(), b_array.as<std::uint16_t>(),
                             c_array.as<float>(), result.on_device()});
    };
    task.input(is_random, input, "A launcher calls `launch`, as that of exercise.h does.");
    const CheckedArray first_result("d", 128);
    lessons::expect_a_launch(task, [&] { launch(first_result); });
    lessons::in_every_order([&](const std::string& order) {
      task.input(is_random, input + "; " + order, hint);
      const CheckedArray result("d", 128);
      lessons::launch_soundly(task, [&] { launch(result); });
      const Doubles got = result.values();
      for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < 8; ++column) {
          const double element = got[row * 8 + column];
          task.expect(element == d[row][column],
                      "D(" + show(row) + ", " + show(column) +
                          ") = " + lessons::show_all_digits(d[row][column]),
                      lessons::show_all_digits(element));
        }
      }
    });
  }
}

void check_place_of(TaskCheck& task) {
  const std::string hint_row =
      "The four chunks of a row need the four places of the row: 0 to 3, each once.";
  const std::string hint_banks =
      "Row r begins in bank 0 if it is even and in bank 16 if it is odd. So two rows meet if both "
      "are even, "
      "or both odd, and their chunk has the same place. Which number of 0 to 3 tells rows 0, 2, 4 "
      "and 6 "
      "apart?";
  // The places first; a kernel is launched only if they make sense.
  std::int64_t size = 0;
  const CheckedArray unused("fragments", kRows * kElements);
  const CheckedInput nothing("tile", Halves(kRows * kElements, 0));
  task.input(size, "a tile of zeros", "A launcher calls `launch`, as that of exercise.h does.");
  lessons::expect_a_launch(task, [&] {
    kAnswer.load_fragments({nothing.as<std::uint16_t>(), unused.on_device()});
  });
  for (int row = 0; row < kRows; ++row) {
    std::vector<int> places;
    for (int chunk = 0; chunk < kChunks; ++chunk) places.push_back(kAnswer.place_of(row, chunk));
    task.input(++size, "row " + show(row) + ", chunks 0 to 3", hint_row);
    std::vector<int> sorted = places;
    std::sort(sorted.begin(), sorted.end());
    task.expect(sorted == std::vector<int>{0, 1, 2, 3}, "each of the places 0 to 3 once",
                "places " + show(places));
  }

  Halves tile;
  for (int i = 0; i < kRows * kElements; ++i) tile.push_back(bf16(i % 251));
  const CheckedInput tile_array("tile", tile);
  Doubles expected;
  for (int step = 0; step < kElements / 16; ++step) {
    for (int lane_idx = 0; lane_idx < 32; ++lane_idx) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane_idx / 4 + i % 2 * 8;
        const int column = 16 * step + i / 2 * 8 + 2 * (lane_idx % 4);
        expected.push_back(value_of(tile[row * kElements + column]));
        expected.push_back(value_of(tile[row * kElements + column + 1]));
      }
    }
  }
  const std::string input = "a tile of 16 rows of 32 elements";
  const auto launch = [&](const CheckedArray& result) {
    kAnswer.load_fragments({tile_array.as<std::uint16_t>(), result.on_device()});
  };
  lessons::in_every_order([&](const std::string& order) {
    task.input(kRows * kElements, input + "; " + order,
               "A chunk must be looked for where it was put.");
    const CheckedArray result("fragments", kRows * kElements);
    lessons::launch_soundly(task, [&] { launch(result); });
    task.expect_equal("fragments", result.values(), expected);
  });
  task.input(kRows * kElements, input, hint_banks);
  const CheckedArray result("fragments", kRows * kElements);
  const CountedLaunches counted = lessons::count_launches([&] { launch(result); });
  task.cost("a tile of 16 × 32: " + lessons::cost_of(counted));
  task.expect(counted.bank_conflicts() == 0, "no bank conflicts",
              std::to_string(counted.bank_conflicts()) +
                  " of them: " + lessons::conflicts_by_line(counted));
}

}  // namespace
}  // namespace pagelab::lesson_07

int main(int argc, char** argv) {
  using namespace pagelab::lesson_07;
  pagelab::lessons::Checker checker("07", "tensor cores", on_checked_simulator::answer().path);
  checker.add_task("product_of", check_product_of);
  checker.add_task("mma_element", check_mma_element);
  checker.add_task("multiply_tile", check_multiply_tile);
  checker.add_task("place_of", check_place_of);
  return checker.run(argc, argv);
}
