/// \file
/// Where contend_for_global of contention.cu keeps its numbers.
#pragma once

namespace pagelab::test {

/// Index of each number in the memory, in units of 8 bytes.
enum ContentionMemory : int {
  kTickets,
  kWideSum,
  kFloatSum,
  kDoubleSum,
  kDifference,
  kMinimum,
  kMaximum,
  kUnion,
  kParity,
  kCyclicUp,
  kCyclicDown,
  kFirstSeen  ///< and as many as there are threads: how often each ticket was given
};

}  // namespace pagelab::test
