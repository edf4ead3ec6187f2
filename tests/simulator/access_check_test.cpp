// Each check with a kernel that makes the mistake and its twin that does not.

#include "simulator/simt/checks.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "simulator/simt/device_memory.h"
#include "simulator/simt/error.h"
#include "simulator/simt/launch.h"
#include "tests/simulator/kernels_under_test.h"
#include "tests/support/source_place.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// " at kernels_under_test.cpp:12", where the kernels have this text.
std::string at(const std::string& text) {
  return " at " + test::source_place("tests/simulator/kernels_under_test.cpp", text);
}

// An array of simulated device memory that frees itself.
template <typename T>
class Array {
 public:
  Array(std::size_t size, const std::string& name)
      : size_(size), data_(simt::device_memory().allocate(size * sizeof(T), name)) {}
  Array(const std::vector<T>& values, const std::string& name) : Array(values.size(), name) {
    simt::device_memory().copy_to_device(data_, values.data(), size_ * sizeof(T));
  }
  ~Array() {
    if (data_ != nullptr) free();
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() const { return static_cast<T*>(data_); }
  std::vector<T> values() const {
    std::vector<T> values(size_);
    simt::device_memory().copy_to_host(values.data(), data_, size_ * sizeof(T));
    return values;
  }
  void free() {
    simt::device_memory().free(data_);
    data_ = nullptr;
  }

 private:
  std::size_t size_;
  void* data_;
};

template <typename T>
void check_that_this_width_is_seen() {
  const Array<T> x(std::vector<T>(3), "x");
  const Array<T> y(3, "y");
  CHECK_NOTHROW(run_copy(x.data(), y.data(), 3));
  CHECK_THROWS_AS(run_copy(x.data(), y.data(), 4), simt::Error);
  const Array<T> unwritten(3, "unwritten");
  CHECK_THROWS_AS(run_copy(unwritten.data(), y.data(), 1), simt::Error);
  CHECK_THROWS_AS(run_copy(x.data(), y.data() - 1, 1), simt::Error);
}

}  // namespace

TEST_SUITE("simulator access checks") {
  TEST_CASE("S8: a missing bounds check is reported with thread and array and index") {
    const Array<float> x(4, "x");
    CHECK_THROWS_WITH_AS(
        run_fill(x.data(), 4, false, 8),
        ("kernel fill, thread block (0, 0, 0), thread (4, 0, 0)" + at("x[thread] =") +
         " writes element 4 of array `x`, which has 4 elements of 4 bytes. Is a check of the index "
         "against the size missing?")
            .c_str(),
        simt::Error);
    CHECK_NOTHROW(run_fill(x.data(), 4, true, 8));
    CHECK(x.values() == std::vector<float>{1, 2, 3, 4});
  }

  TEST_CASE("S8: an access below the first element is reported with a negative index") {
    const Array<double> x(std::vector<double>{1, 2, 3}, "x");
    const Array<double> y(3, "y");
    CHECK_THROWS_WITH_AS(run_shifted_copy(x.data(), y.data(), -1, 3),
                         ("kernel shifted_copy, thread block (0, 0, 0), thread (0, 0, 0)" +
                          at("y[thread] = x[thread + shift]") +
                          " reads element -1 of array `x`, which has 3 elements of 8 bytes. Is a "
                          "check of the index against the size missing?")
                             .c_str(),
                         simt::Error);
    CHECK_THROWS_WITH_AS(run_shifted_copy(x.data(), y.data(), 1, 3),
                         ("kernel shifted_copy, thread block (0, 0, 0), thread (2, 0, 0)" +
                          at("y[thread] = x[thread + shift]") +
                          " reads element 3 of array `x`, which has 3 elements of 8 bytes. Is a "
                          "check of the index against the size missing?")
                             .c_str(),
                         simt::Error);
    CHECK_NOTHROW(run_shifted_copy(x.data(), y.data(), 0, 3));
    CHECK(y.values() == std::vector<double>{1, 2, 3});
  }

  TEST_CASE("a read of an element that nobody wrote is reported") {
    const Array<double> x(3, "x");
    const Array<double> y(3, "y");
    const double one = 1.0;
    simt::device_memory().copy_to_device(x.data(), &one, sizeof one);
    CHECK_THROWS_WITH_AS(run_shifted_copy(x.data(), y.data(), 0, 2),
                         ("kernel shifted_copy, thread block (0, 0, 0), thread (1, 0, 0)" +
                          at("y[thread] = x[thread + shift]") +
                          " reads element 1 of array `x`, which was never written (the array has 3 "
                          "elements of 8 bytes). Was it to be copied or filled before the launch?")
                             .c_str(),
                         simt::Error);
    CHECK_NOTHROW(run_shifted_copy(x.data(), y.data(), 0, 1));
    // What a kernel wrote may be read: y[0] now, y[1] not yet.
    CHECK_NOTHROW(run_shifted_copy(y.data(), x.data(), 0, 1));
    CHECK_THROWS_AS(run_shifted_copy(y.data(), x.data(), 0, 2), simt::Error);
  }

  TEST_CASE("an access to an array that was freed is reported") {
    Array<double> x(std::vector<double>{1, 2, 3}, "x");
    const Array<double> y(3, "y");
    const double* const dangling = x.data();
    CHECK_NOTHROW(run_shifted_copy(dangling, y.data(), 0, 3));
    x.free();
    CHECK_THROWS_WITH_AS(
        run_shifted_copy(dangling, y.data(), 2, 1),
        ("kernel shifted_copy, thread block (0, 0, 0), thread (0, 0, 0)" +
         at("y[thread] = x[thread + shift]") +
         " reads element 2 of array `x`, which was freed (it had 3 elements of 8 bytes).")
            .c_str(),
        simt::Error);
  }

  TEST_CASE("the thread that made the mistake is named among all the others") {
    const Array<float> x(4, "x");
    CHECK_NOTHROW(run_one_bad_thread(x.data(), 3));
    const std::string sentence =
        ("kernel one_bad_thread, thread block (2, 1, 0), thread (1, 0, 0)" +
         at("x[bad_index] = 1.0f") +
         " writes element 9 of array `x`, which has 4 elements of 4 bytes. Is a check of the index "
         "against the size missing?")
            .c_str();
    CHECK_THROWS_WITH_AS(run_one_bad_thread(x.data(), 9), sentence.c_str(), simt::Error);
    const simt::ScopedThreadOrder order(simt::ThreadOrder::kShuffled, 3);
    CHECK_THROWS_WITH_AS(run_one_bad_thread(x.data(), 9), sentence.c_str(), simt::Error);
  }

  TEST_CASE("an access between two elements is reported in bytes") {
    const Array<double> x(std::vector<double>{1, 2}, "x");
    const Array<double> y(2, "y");
    const double* const shifted =
        reinterpret_cast<const double*>(reinterpret_cast<const char*>(x.data()) + 4);
    CHECK_THROWS_WITH_AS(run_shifted_copy(shifted, y.data(), 1, 1),
                         ("kernel shifted_copy, thread block (0, 0, 0), thread (0, 0, 0)" +
                          at("y[thread] = x[thread + shift]") +
                          " reads bytes 12 to 19 of array `x`, which has 2 elements of 8 bytes. Is "
                          "a check of the index against the size missing?")
                             .c_str(),
                         simt::Error);
  }

  TEST_CASE("an access through a null pointer is reported instead of ending the program") {
    const Array<double> y(2, "y");
    CHECK_THROWS_WITH_AS(
        run_shifted_copy(nullptr, y.data(), 1, 1),
        ("kernel shifted_copy, thread block (0, 0, 0), thread (0, 0, 0)" +
         at("y[thread] = x[thread + shift]") +
         " reads through a null pointer. Is an array of the launch missing, or empty?")
            .c_str(),
        simt::Error);
  }

  TEST_CASE("accesses of every width are seen") {
    check_that_this_width_is_seen<std::uint8_t>();
    check_that_this_width_is_seen<std::uint16_t>();
    check_that_this_width_is_seen<std::uint32_t>();
    check_that_this_width_is_seen<std::uint64_t>();
    check_that_this_width_is_seen<Triple>();
  }

  TEST_CASE("locals and parameters of a kernel are not checked") {
    const Array<float> x(std::vector<float>{1, 2, 3, 4, 5, 6, 7}, "x");
    const Array<float> sum(1, "sum");
    CHECK_NOTHROW(run_sum(x.data(), sum.data(), 7));
    CHECK(sum.values()[0] == 28.0f);
  }

  TEST_CASE("thread blocks that use the same shared array one after the other do not race") {
    const Array<float> x(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                         "x");
    const Array<float> y(15, "y");
    CHECK_NOTHROW(run_reverse_tiles(x.data(), y.data()));
    CHECK(y.values() == std::vector<float>{5, 4, 3, 2, 1, 10, 9, 8, 7, 6, 15, 14, 13, 12, 11});
  }

  TEST_CASE("S4: shared memory that a thread block wrote is poisoned for the next one") {
    const Array<float> y(std::vector<float>(15), "y");
    run_leftovers(y.data());
    const std::vector<float> leftovers = y.values();
    // The first thread block has nobody's leftovers. 0xff in every byte is NaN.
    for (int i = 5; i < 15; ++i) CHECK(std::isnan(leftovers[static_cast<std::size_t>(i)]));
  }

  TEST_CASE("after a mistake the next launch runs as if nothing had happened") {
    const Array<float> x(4, "x");
    for (int round = 0; round < 3; ++round) {
      CHECK_THROWS_AS(run_fill(x.data(), 4, false, 8), simt::Error);
      CHECK_NOTHROW(run_fill(x.data(), 4, true, 8));
    }
    CHECK(x.values() == std::vector<float>{1, 2, 3, 4});
  }
}
