#include "simulator/simt/atomic_words.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "simulator/simt/checks.h"
#include "simulator/simt/counters.h"
#include "simulator/simt/running_lane.h"
#include "simulator/simt/thread_block.h"

namespace pagelab::simt {

namespace {

template <typename Number>
Number changed(Atomic kind, Number old, Number operand) {
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
    return kind == Atomic::kSub ? old - operand : old + operand;
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

void check(const void* address, std::size_t bytes, const void* pc) {
  if (running_config()->checks == Checks::kOn) {
    count_access(address, bytes, AccessKind::kAtomic, pc);
    check_access(address, bytes, AccessKind::kAtomic, pc);
  }
}

}  // namespace

// Thread blocks on other cores may be at the same number: the host's own atomics decide.
template <typename Number>
Number atomic(Atomic kind, Number* address, Number operand, const void* pc) {
  check(address, sizeof(Number), pc);
  running_thread_block->take_turn_at(address, pc);
  Number old;
  __atomic_load(address, &old, __ATOMIC_SEQ_CST);
  Number desired = changed(kind, old, operand);
  while (!__atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
    desired = changed(kind, old, operand);
  }
  return old;
}

template <typename Number>
Number atomic_compare_and_swap(Number* address, Number expected, Number desired, const void* pc) {
  check(address, sizeof(Number), pc);
  running_thread_block->take_turn_at(address, pc);
  __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_SEQ_CST,
                            __ATOMIC_SEQ_CST);
  return expected;  // now what was there
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
template unsigned long long atomic_compare_and_swap(unsigned long long*,
                                                    unsigned long long,
                                                    unsigned long long,
                                                    const void*);

}  // namespace pagelab::simt
