#include "simulator/simt/warp_words.h"

#include <algorithm>
#include <string>

#include "simulator/simt/checks.h"
#include "simulator/simt/warp_collective.h"

namespace pagelab::simt {

namespace {

struct Nothing {};

// Every lane brings a T; `combine(values, mask, lane_idx)` says what each takes away.
template <typename Out, typename In, typename Combine>
Out exchange(const char* word, unsigned int mask, In in, const void* pc, Combine combine) {
  return together<In, Out>(
      word, mask, in,
      [&](const In* const(&ins)[kLanesPerWarp], Out* const(&outs)[kLanesPerWarp]) {
        In values[kLanesPerWarp] = {};
        unsigned int met = 0;
        for (unsigned int lane_idx = 0; lane_idx < kLanesPerWarp; ++lane_idx) {
          if (ins[lane_idx] == nullptr) continue;
          values[lane_idx] = *ins[lane_idx];
          met |= 1u << lane_idx;
        }
        for (unsigned int lane_idx = 0; lane_idx < kLanesPerWarp; ++lane_idx) {
          if (outs[lane_idx] != nullptr) *outs[lane_idx] = combine(values, met, lane_idx);
        }
      },
      pc);
}

unsigned int true_lanes(const int (&predicates)[kLanesPerWarp]) {
  unsigned int lanes = 0;
  for (unsigned int lane_idx = 0; lane_idx < kLanesPerWarp; ++lane_idx) {
    if (predicates[lane_idx] != 0) lanes |= 1u << lane_idx;
  }
  return lanes;
}

const char* word_of(Shuffle kind) {
  switch (kind) {
    case Shuffle::kUp:
      return "__shfl_up_sync";
    case Shuffle::kDown:
      return "__shfl_down_sync";
    case Shuffle::kXor:
      return "__shfl_xor_sync";
    default:
      return "__shfl_sync";
  }
}

// The lane that a shuffle reads; its own where that lies outside the segment.
// Source: PTX ISA, `shfl.sync`: five bits of the operand count.
unsigned int source_lane(Shuffle kind, unsigned int lane_idx, unsigned int operand, int width) {
  const unsigned int in_segment = static_cast<unsigned int>(width) - 1;
  const unsigned int segment = lane_idx & ~in_segment;
  const unsigned int last = segment | in_segment;
  const unsigned int distance = operand % kLanesPerWarp;
  switch (kind) {
    case Shuffle::kUp:
      return distance > lane_idx - segment ? lane_idx : lane_idx - distance;
    case Shuffle::kDown:
      return lane_idx + distance > last ? lane_idx : lane_idx + distance;
    case Shuffle::kXor:
      return (lane_idx ^ distance) > last ? lane_idx : lane_idx ^ distance;
    default:
      return segment | (operand & in_segment);
  }
}

void require_width(Shuffle kind, int width, const void* pc) {
  if (width >= 1 && width <= 32 && (width & (width - 1)) == 0) return;
  fail([&] {
    return place_of_running_thread() + ": " + word_of(kind) + at_line(pc) + " has the width " +
           std::to_string(width) + ", but it must be 1, 2, 4, 8, 16 or 32.";
  });
}

template <typename Number>
Number reduce_two(Reduction kind, Number a, Number b) {
  switch (kind) {
    case Reduction::kMin:
      return std::min(a, b);
    case Reduction::kMax:
      return std::max(a, b);
    case Reduction::kAnd:
      return a & b;
    case Reduction::kOr:
      return a | b;
    case Reduction::kXor:
      return a ^ b;
    default:
      // Wraps around, as on a GPU.
      return static_cast<Number>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b));
  }
}

const char* word_of(Reduction kind) {
  switch (kind) {
    case Reduction::kMin:
      return "__reduce_min_sync";
    case Reduction::kMax:
      return "__reduce_max_sync";
    case Reduction::kAnd:
      return "__reduce_and_sync";
    case Reduction::kOr:
      return "__reduce_or_sync";
    case Reduction::kXor:
      return "__reduce_xor_sync";
    default:
      return "__reduce_add_sync";
  }
}

template <typename Number>
Number reduce_all(Reduction kind, unsigned int mask, Number value, const void* pc) {
  return exchange<Number>(
      word_of(kind), mask, value, pc,
      [kind](const Number(&values)[kLanesPerWarp], unsigned int met, unsigned int) {
        Number result = values[__builtin_ctz(met)];
        for (unsigned int rest = met & (met - 1); rest != 0; rest &= rest - 1) {
          result = reduce_two(kind, result, values[__builtin_ctz(rest)]);
        }
        return result;
      });
}

}  // namespace

void syncthreads() {
  running_thread_block->barrier("__syncthreads", BarrierVote::kNone, 0,
                                __builtin_return_address(0));
}

int syncthreads_count(int predicate) {
  return running_thread_block->barrier("__syncthreads_count", BarrierVote::kCount, predicate,
                                       __builtin_return_address(0));
}

int syncthreads_and(int predicate) {
  return running_thread_block->barrier("__syncthreads_and", BarrierVote::kAnd, predicate,
                                       __builtin_return_address(0));
}

int syncthreads_or(int predicate) {
  return running_thread_block->barrier("__syncthreads_or", BarrierVote::kOr, predicate,
                                       __builtin_return_address(0));
}

void syncwarp(unsigned int mask) {
  const bool checked = running_config()->checks == Checks::kOn;
  const unsigned int first_thread = running_thread() / kLanesPerWarp * kLanesPerWarp;
  together<Nothing, Nothing>(
      "__syncwarp", mask, Nothing{},
      [&](const Nothing* const(&ins)[kLanesPerWarp], Nothing* const(&)[kLanesPerWarp]) {
        unsigned int met = 0;
        for (unsigned int lane_idx = 0; lane_idx < kLanesPerWarp; ++lane_idx) {
          if (ins[lane_idx] != nullptr) met |= 1u << lane_idx;
        }
        if (checked) lanes_met(first_thread, met);
      },
      __builtin_return_address(0));
}

unsigned int ballot_sync(unsigned int mask, int predicate) {
  return exchange<unsigned int>("__ballot_sync", mask, predicate, __builtin_return_address(0),
                                [](const int(&predicates)[kLanesPerWarp], unsigned int,
                                   unsigned int) { return true_lanes(predicates); });
}

int all_sync(unsigned int mask, int predicate) {
  return exchange<int>("__all_sync", mask, predicate, __builtin_return_address(0),
                       [](const int(&predicates)[kLanesPerWarp], unsigned int met, unsigned int) {
                         return true_lanes(predicates) == met ? 1 : 0;
                       });
}

int any_sync(unsigned int mask, int predicate) {
  return exchange<int>("__any_sync", mask, predicate, __builtin_return_address(0),
                       [](const int(&predicates)[kLanesPerWarp], unsigned int, unsigned int) {
                         return true_lanes(predicates) != 0 ? 1 : 0;
                       });
}

unsigned int activemask() {
  unsigned int mask = 0;
  const auto run = [](const void*, const WarpExchange& lanes) {
    for (void* out : lanes.out) {
      if (out != nullptr) *static_cast<unsigned int*>(out) = lanes.mask;
    }
  };
  running_thread_block->meet_converged(&mask, &mask, {run, nullptr}, __builtin_return_address(0));
  return mask;
}

std::uint64_t shuffle(Shuffle kind,
                      unsigned int mask,
                      std::uint64_t bits,
                      unsigned int lane,
                      int width,
                      const void* pc) {
  require_width(kind, width, pc);
  struct Brought {
    std::uint64_t bits;
    unsigned int lane;
    int width;
  };
  const Brought brought = {bits, lane, width};
  return exchange<std::uint64_t>(
      word_of(kind), mask, brought, pc,
      [&](const Brought(&all)[kLanesPerWarp], unsigned int met, unsigned int lane_idx) {
        const Brought& mine = all[lane_idx];
        const unsigned int source = source_lane(kind, lane_idx, mine.lane, mine.width);
        if ((met >> source & 1u) == 0) {
          fail([&] {
            return running_thread_block->place_of_thread(
                       running_thread() / kLanesPerWarp * kLanesPerWarp + lane_idx) +
                   ": " + word_of(kind) + at_line(pc) + " takes the value of lane " +
                   std::to_string(source) +
                   ", which does not take part. On a GPU any value may come of it.";
          });
        }
        return all[source].bits;
      });
}

unsigned int match_any(unsigned int mask, std::uint64_t bits, const void* pc) {
  return exchange<unsigned int>(
      "__match_any_sync", mask, bits, pc,
      [](const std::uint64_t(&all)[kLanesPerWarp], unsigned int met, unsigned int lane_idx) {
        unsigned int alike = 0;
        for (unsigned int rest = met; rest != 0; rest &= rest - 1) {
          const int other = __builtin_ctz(rest);
          if (all[other] == all[lane_idx]) alike |= 1u << other;
        }
        return alike;
      });
}

unsigned int match_all(unsigned int mask, std::uint64_t bits, int* predicate, const void* pc) {
  const unsigned int alike = exchange<unsigned int>(
      "__match_all_sync", mask, bits, pc,
      [](const std::uint64_t(&all)[kLanesPerWarp], unsigned int met, unsigned int lane_idx) {
        for (unsigned int rest = met; rest != 0; rest &= rest - 1) {
          if (all[__builtin_ctz(rest)] != all[lane_idx]) return 0u;
        }
        return met;
      });
  *predicate = alike != 0 ? 1 : 0;
  return alike;
}

unsigned int reduce(Reduction kind, unsigned int mask, unsigned int value, const void* pc) {
  return reduce_all(kind, mask, value, pc);
}

int reduce(Reduction kind, unsigned int mask, int value, const void* pc) {
  return reduce_all(kind, mask, value, pc);
}

}  // namespace pagelab::simt
