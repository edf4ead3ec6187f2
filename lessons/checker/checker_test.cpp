// The judge must not be fooled: by NaN, by numbers that look alike, by lists of the wrong length.

#include "lessons/checker/checker.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "lessons/checker/random_data.h"

using namespace pagelab::lessons;

namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();

WrongAnswer failure_of(const std::function<void(TaskCheck&)>& judge) {
  TaskCheck task;
  try {
    judge(task);
  } catch (const WrongAnswer& wrong) {
    return wrong;
  }
  FAIL("nothing was found wrong");
  return {};
}

}  // namespace

TEST_SUITE("checker") {
  TEST_CASE("NaN is close to nothing and equal to nothing") {
    const TaskCheck task;
    CHECK_THROWS_AS(task.expect_close("x", kNaN, 1.0, 1e9), WrongAnswer);
    CHECK_THROWS_AS(task.expect_close("x", 1.0, 1.0, kNaN), WrongAnswer);
    CHECK_THROWS_AS(task.expect_close("x", {1.0, kNaN}, {1.0, 2.0}, {1.0, 1.0}), WrongAnswer);
    const std::vector<double> with_nan = {kNaN};
    CHECK_THROWS_AS(task.expect_equal("x", with_nan, {1.0}), WrongAnswer);
  }

  TEST_CASE("a number at the allowed distance passes and one past it does not") {
    const TaskCheck task;
    CHECK_NOTHROW(task.expect_close("x", 1.5, 1.0, 0.5));
    CHECK_THROWS_AS(task.expect_close("x", 1.5000001, 1.0, 0.5), WrongAnswer);
  }

  TEST_CASE("a list of the wrong length is wrong however close its numbers are") {
    const TaskCheck task;
    CHECK_THROWS_AS(task.expect_close("x", {1.0}, {1.0, 2.0}, {9.0, 9.0}), WrongAnswer);
    CHECK_THROWS_AS(task.expect_close("x", {1.0, 2.0, 3.0}, {1.0, 2.0}, {9.0, 9.0}), WrongAnswer);
  }

  TEST_CASE("numbers that differ behind the printed digits are printed in full") {
    const WrongAnswer wrong = failure_of([](TaskCheck& task) {
      task.input(1, "the input", "the hint");
      task.expect_equal("x", 1.0 + 0x1p-52, 1.0);
    });
    CHECK(wrong.input == "the input");
    CHECK(wrong.hint == "the hint");
    CHECK(wrong.expected == "x 1");
    CHECK(wrong.got == "x 1.0000000000000002");
  }

  TEST_CASE("inputs that shrink are refused because the first failing one must be the smallest") {
    TaskCheck task;
    task.input(3, "three numbers", "");
    CHECK_THROWS_AS(task.input(2, "two numbers", ""), std::logic_error);
  }

  TEST_CASE("a long list is shown by its beginning and its length") {
    CHECK(show(std::vector<int>{6, 1, 4}) == "[6 1 4]");
    CHECK(show(std::vector<int>(20, 7)) == "[7 7 7 7 7 7 7 7 7 7 7 7 ... 20 in all]");
  }

  TEST_CASE("random blocks are different ones and a seed gives the same data again") {
    RandomData random(5);
    const std::vector<int> blocks = random.distinct(7, 9);
    CHECK(std::set<int>(blocks.begin(), blocks.end()).size() == 7);
    CHECK(*std::ranges::max_element(blocks) < 9);
    CHECK(RandomData(5).numbers(4) == RandomData(5).numbers(4));
    CHECK(RandomData(5).numbers(4) != RandomData(6).numbers(4));
  }
}
