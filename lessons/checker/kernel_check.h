/// \file
/// What the check of a lesson about kernels is made of: arrays on the simulated GPU, launches whose
/// faults are the answer's, and counts of what a launch did to memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lessons/checker/checker.h"
#include "simulator/simt/counters.h"

namespace pagelab::lessons {

/// Floats in the memory of the simulated GPU, under a name that the simulator's messages use. They
/// are freed with the object.
class CheckedArray {
 public:
  /// An array with these values.
  /// \param name    as the answer's author knows it
  /// \param values  copied to the device
  CheckedArray(const std::string& name, const std::vector<float>& values);
  /// An array that nobody has written yet.
  /// \param name   as the answer's author knows it
  /// \param count  elements
  CheckedArray(const std::string& name, int count);
  ~CheckedArray();
  CheckedArray(const CheckedArray&) = delete;
  CheckedArray& operator=(const CheckedArray&) = delete;

  float* on_device() const { return address_; }  ///< address of the first element
  /// A copy of what is in it now; an element that was never written is NaN.
  std::vector<double> values() const;

 private:
  int count_;
  float* address_;
};

/// An input of any type in the memory of the simulated GPU, freed with the object.
class CheckedInput {
 public:
  /// \param name    as the answer's author knows it
  /// \param values  copied to the device, one or more
  template <typename T>
  CheckedInput(const std::string& name, const std::vector<T>& values)
      : CheckedInput(name, values.data(), values.size() * sizeof(T)) {}
  ~CheckedInput();
  CheckedInput(const CheckedInput&) = delete;
  CheckedInput& operator=(const CheckedInput&) = delete;

  /// Address of the first element, which is a T.
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(address_);
  }

 private:
  CheckedInput(const std::string& name, const void* values, std::size_t bytes);
  void* address_;
};

/// Launches kernels. What the simulator finds wrong with them is what is wrong with the answer.
/// \param task    under judgement
/// \param launch  calls a launcher of the answer
void launch_soundly(const TaskCheck& task, const std::function<void()>& launch);

/// Expects that a kernel is launched: what the host computes by itself is no answer, and a GPU's memory is
/// not the host's to read.
/// \param task    under judgement
/// \param launch  calls a launcher of the answer
void expect_a_launch(const TaskCheck& task, const std::function<void()>& launch);

/// Calls `judge` with the threads of every launch in ascending order, in descending order, and in a
/// random one. On a GPU they run in any.
/// \param judge  gets the order in words, for the description of the input
void in_every_order(const std::function<void(const std::string& order)>& judge);

/// What launches did to memory, all together.
struct CountedLaunches {
  simt::Counters totals;                  ///< of all launches
  std::vector<simt::LineCounters> lines;  ///< of each line of each launch
  std::uint64_t num_warps = 0;            ///< that were launched

  std::uint64_t global_requests() const;     ///< loads and stores of a warp, atomics not among them
  std::uint64_t global_sectors() const;      ///< of 32 bytes, that these moved
  std::uint64_t shared_requests() const;     ///< the same for shared memory
  std::uint64_t bank_conflicts() const;      ///< passes through the banks that were one too many
  std::uint64_t barriers_of_a_warp() const;  ///< that each warp came to, rounded up
};

/// Launches kernels that are known to be sound, and counts.
CountedLaunches count_launches(const std::function<void()>& launch);

/// "global memory 37 requests, 130 sectors; shared memory 29 requests, 0 bank conflicts; barriers 8".
std::string cost_of(const CountedLaunches& counted);
/// "exercise.h:85 has 32 sectors a request, exercise.h:86 has 32": the lines that move global memory.
std::string sectors_by_line(const CountedLaunches& counted);
/// "exercise.h:117 has 31 bank conflicts a request": the lines that have any.
std::string conflicts_by_line(const CountedLaunches& counted);

}  // namespace pagelab::lessons
