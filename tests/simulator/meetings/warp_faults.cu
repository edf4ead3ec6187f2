// Words of a warp that not all lanes of the mask reach, and what else may be wrong with them.

#include "tests/simulator/faults/fault_kernel.h"
#include "tests/simulator/meetings/meeting_faults.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {
namespace {

constexpr unsigned int kAll = 0xffffffffu;

// Lanes beyond the end have left, and the mask names them.
template <bool kIsSound>
__global__ void shuffle_after_a_return(FaultParams params) {
  const unsigned int i = threadIdx.x;
  if (!kIsSound && i >= 20) return;
  const unsigned int next = __shfl_down_sync(kAll, i, 1);  // <- shuffle_after_a_return
  params.y[i] = static_cast<float>(next);
}

// Half of the lanes shuffle, the others wait for all of them.
template <bool kIsSound>
__global__ void shuffle_in_a_branch(FaultParams params) {
  const unsigned int i = threadIdx.x;
  unsigned int first = 0;
  if (kIsSound || i < 16) {
    first = __shfl_sync(kAll, i, 0);  // <- shuffle_in_a_branch, first
  }
  __syncwarp();  // <- shuffle_in_a_branch, second
  params.y[i] = static_cast<float>(first);
}

// All lanes of the mask come, but one asks for the value of a lane that is not in it.
template <bool kIsSound>
__global__ void value_of_an_absent_lane(FaultParams params) {
  const unsigned int i = threadIdx.x;
  if (i >= 16) return;
  const int width = kIsSound ? 16 : 32;
  const unsigned int other = __shfl_down_sync(0xffffu, i, 8, width);  // <- value_of_an_absent_lane
  params.y[i] = static_cast<float>(other);
}

// The mask leaves the caller out.
template <bool kIsSound>
__global__ void mask_without_the_caller(FaultParams params) {
  const unsigned int i = threadIdx.x;
  if (!kIsSound && i > 20) return;
  const unsigned int mask = kIsSound ? kAll : 0xfffffu;
  const int any = __any_sync(mask, i == 3);  // <- mask_without_the_caller
  params.y[i] = static_cast<float>(any);
}

// A width that is no power of two.
template <bool kIsSound>
__global__ void width_of_twelve(FaultParams params) {
  const unsigned int i = threadIdx.x;
  if (i != 7) return;
  const unsigned int same = __shfl_sync(1u << 7, i, 7, kIsSound ? 16 : 12);  // <- width_of_twelve
  params.y[i] = static_cast<float>(same);
}

// Lanes that name different masks wait for different sets of lanes.
template <bool kIsSound>
__global__ void two_masks(FaultParams params) {
  const unsigned int i = threadIdx.x;
  const unsigned int mask = kIsSound || i < 8 ? kAll : 0xffffff80u;
  const unsigned int ballot = __ballot_sync(mask, 1);  // <- two_masks
  params.y[i] = static_cast<float>(ballot & 0xffu);
}

// A vote does not meet a shuffle.
template <bool kIsSound>
__global__ void vote_against_shuffle(FaultParams params) {
  const unsigned int i = threadIdx.x;
  int got = 0;
  if (kIsSound || i % 2 == 0) {
    got = __any_sync(kAll, 1);  // <- vote_against_shuffle, first
  } else {
    got = __shfl_sync(kAll, 1, 0);  // <- vote_against_shuffle, second
  }
  params.y[i] = static_cast<float>(got);
}

}  // namespace

std::vector<Fault> warp_faults() {
  return {
      PAGELAB_FAULT(shuffle_after_a_return, {.cta = 32}),
      PAGELAB_FAULT(shuffle_in_a_branch, {.cta = 64}),
      PAGELAB_FAULT(value_of_an_absent_lane, {.cta = 32}),
      PAGELAB_FAULT(mask_without_the_caller, {.cta = 32}),
      PAGELAB_FAULT(width_of_twelve, {.cta = 32}),
      PAGELAB_FAULT(two_masks, {.cta = 32}),
      PAGELAB_FAULT(vote_against_shuffle, {.cta = 32}),
  };
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
