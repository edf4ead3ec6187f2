#include "simulator/simt/atomic_words.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "simulator/simt/checks.h"
#include "simulator/simt/counters.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/shared_arrays.h"
#include "simulator/simt/thread_block.h"

namespace pagelab::simt {

namespace {

// Whether the calling lane's thread block has this address in its shared memory: dynamic, or static,
// which is this host thread's own and lies right below its thread pointer.
bool is_shared(const void* address) {
  const std::byte* const byte = static_cast<const std::byte*>(address);
  const std::byte* const dynamic = running_thread_block->dynamic_shared();
  if (byte >= dynamic && byte < dynamic + kMaxSharedBytes) return true;
  const void* const end = __builtin_thread_pointer();
  return byte >= thread_local_begin() && byte < static_cast<const std::byte*>(end);
}

float flushed(float number) {
  return std::fpclassify(number) == FP_SUBNORMAL ? std::copysign(0.0f, number) : number;
}

// Source: PTX ISA, `atom`: in global memory the addition of floats takes subnormal numbers for zeros and
// makes none, in shared memory it keeps them. Any NaN is the one that GPUs have.
float sum_in_memory(const float* address, float old, float operand) {
  const float sum = old + operand;
  if (std::isnan(sum)) return __builtin_bit_cast(float, 0x7fffffffu);
  const bool has_subnormal =
      flushed(old) != old || flushed(operand) != operand || flushed(sum) != sum;
  if (!has_subnormal || is_shared(address)) return sum;
  return flushed(flushed(old) + flushed(operand));
}

double sum_in_memory(const double*, double old, double operand) { return old + operand; }

template <typename Number>
Number changed(Atomic kind, [[maybe_unused]] const Number* address, Number old, Number operand) {
  switch (kind) {
    case Atomic::kMin:
      return std::min(old, operand);
    case Atomic::kMax:
      return std::max(old, operand);
    case Atomic::kExchange:
      return operand;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<Number>) {
    return sum_in_memory(address, old, operand);
  } else {
    using Unsigned = std::make_unsigned_t<Number>;  // wraps around, as on a GPU
    const Unsigned before = static_cast<Unsigned>(old);
    const Unsigned argument = static_cast<Unsigned>(operand);
    switch (kind) {
      case Atomic::kSub:
        return static_cast<Number>(before - argument);
      case Atomic::kAnd:
        return static_cast<Number>(before & argument);
      case Atomic::kOr:
        return static_cast<Number>(before | argument);
      case Atomic::kXor:
        return static_cast<Number>(before ^ argument);
      case Atomic::kIncrement:
        return static_cast<Number>(before >= argument ? 0 : before + 1);
      case Atomic::kDecrement:
        return static_cast<Number>(before == 0 || before > argument ? argument : before - 1);
      default:
        return static_cast<Number>(before + argument);
    }
  }
}

template <typename Number>
bool has_same_bits(Number one, Number other) {
  return std::memcmp(&one, &other, sizeof(Number)) == 0;
}

// One number for what was done: two that differ are the same once in a very long while.
template <typename Number>
std::uint64_t signature_of(const Number* address, Number old, Number operand, const void* pc) {
  std::uint64_t old_bits = 0;
  std::uint64_t operand_bits = 0;
  std::memcpy(&old_bits, &old, sizeof(Number));
  std::memcpy(&operand_bits, &operand, sizeof(Number));
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(address);
  for (const std::uint64_t part : {reinterpret_cast<std::uintptr_t>(pc), old_bits, operand_bits}) {
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u + part;
  }
  return hash;
}

void check(const void* address, std::size_t bytes, const void* pc) {
  if (running_config()->checks == Checks::kOn) {
    if (is_counting()) count_access(address, bytes, AccessKind::kAtomic, pc);
    check_access(address, bytes, AccessKind::kAtomic, pc);
  }
}

}  // namespace

// Thread blocks on other cores may be at the same number: the host's own atomics decide.
template <typename Number>
Number atomic(Atomic kind, Number* address, Number operand, const void* pc) {
  check(address, sizeof(Number), pc);
  Number old;
  __atomic_load(address, &old, __ATOMIC_SEQ_CST);
  Number desired = changed(kind, address, old, operand);
  while (!__atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
    desired = changed(kind, address, old, operand);
  }
  running_thread_block->after_atomic(!has_same_bits(old, desired),
                                     signature_of(address, old, operand, pc), pc);
  return old;
}

template <typename Number>
Number atomic_compare_and_swap(Number* address, Number expected, Number desired, const void* pc) {
  check(address, sizeof(Number), pc);
  Number old = expected;
  const bool has_swapped =
      __atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  running_thread_block->after_atomic(has_swapped && !has_same_bits(old, desired),
                                     signature_of(address, old, expected, pc), pc);
  return old;
}

void fence() {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer knows no fences, but any change of one number that all threads make is one, too.
  static std::atomic<int> passed = 0;
  passed.fetch_add(1);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

template int atomic(Atomic, int*, int, const void*);
template unsigned int atomic(Atomic, unsigned int*, unsigned int, const void*);
template long long atomic(Atomic, long long*, long long, const void*);
template unsigned long long atomic(Atomic, unsigned long long*, unsigned long long, const void*);
template float atomic(Atomic, float*, float, const void*);
template double atomic(Atomic, double*, double, const void*);
template int atomic_compare_and_swap(int*, int, int, const void*);
template unsigned int atomic_compare_and_swap(unsigned int*,
                                              unsigned int,
                                              unsigned int,
                                              const void*);
template unsigned short atomic_compare_and_swap(unsigned short*,
                                                unsigned short,
                                                unsigned short,
                                                const void*);
template unsigned long long atomic_compare_and_swap(unsigned long long*,
                                                    unsigned long long,
                                                    unsigned long long,
                                                    const void*);

}  // namespace pagelab::simt
