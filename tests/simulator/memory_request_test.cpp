// Sectors and wavefronts of single requests, counted by hand.

#include "simulator/simt/memory_request.h"

#include <doctest/doctest.h>

using pagelab::simt::atomic_sectors_of;
using pagelab::simt::kLanesPerWarp;
using pagelab::simt::MemoryRequest;
using pagelab::simt::sectors_of;
using pagelab::simt::shared_atomic_work_of;
using pagelab::simt::shared_work_of;
using pagelab::simt::SharedWork;

namespace {

constexpr std::uintptr_t kBase = 0x70000000;  // a multiple of 256, as cudaMalloc's arrays begin

// Lane i accesses `bytes` at kBase + offset + stride · i.
MemoryRequest strided(std::size_t bytes,
                      std::uintptr_t stride,
                      std::uintptr_t offset = 0,
                      unsigned int mask = 0xffffffffu) {
  MemoryRequest request;
  request.bytes = bytes;
  request.mask = mask;
  for (unsigned int lane_idx = 0; lane_idx < kLanesPerWarp; ++lane_idx) {
    request.addresses[lane_idx] = kBase + offset + stride * lane_idx;
  }
  return request;
}

void check_work(const SharedWork& work, unsigned int wavefronts, unsigned int conflicts) {
  CHECK(work.wavefronts == wavefronts);
  CHECK(work.conflicts == conflicts);
}

}  // namespace

TEST_SUITE("simt memory request") {
  TEST_CASE("a warp that reads 32 neighbouring floats touches 4 sectors") {
    CHECK(sectors_of(strided(4, 4)) == 4);  // 128 bytes / 32
  }

  TEST_CASE("one float further on a fifth sector is touched") {
    CHECK(sectors_of(strided(4, 4, 4)) == 5);  // bytes 4 to 131
    CHECK(sectors_of(strided(4, 4, 32)) == 4);
  }

  TEST_CASE("sectors grow with the stride up to one for each lane") {
    CHECK(sectors_of(strided(4, 8)) == 8);    // 256 bytes
    CHECK(sectors_of(strided(4, 12)) == 12);  // 384 bytes
    CHECK(sectors_of(strided(4, 32)) == 32);
    CHECK(sectors_of(strided(4, 128)) == 32);
    CHECK(sectors_of(strided(4, 0)) == 1);
  }

  TEST_CASE("wide accesses touch as many sectors as their bytes fill") {
    CHECK(sectors_of(strided(1, 1)) == 1);
    CHECK(sectors_of(strided(2, 2)) == 2);
    CHECK(sectors_of(strided(8, 8)) == 8);
    CHECK(sectors_of(strided(16, 16)) == 16);
  }

  TEST_CASE("inactive lanes touch nothing") {
    CHECK(sectors_of(strided(4, 4, 0, 0x0000ffffu)) == 2);
    CHECK(sectors_of(strided(4, 32, 0, 0x80000001u)) == 2);
    CHECK(sectors_of(strided(4, 4, 0, 0)) == 0);
  }

  TEST_CASE("neighbouring words of shared memory are read in one wavefront") {
    check_work(shared_work_of(strided(4, 4)), 1, 0);
    check_work(shared_work_of(strided(4, 4, 20)), 1, 0);
  }

  TEST_CASE("the same word is read once for all lanes") {
    check_work(shared_work_of(strided(4, 0)), 1, 0);
    check_work(shared_work_of(strided(1, 1)), 1, 0);  // four lanes a word
    check_work(shared_work_of(strided(2, 2)), 1, 0);
  }

  TEST_CASE("lanes a multiple of 32 words apart meet in one bank") {
    check_work(shared_work_of(strided(4, 128)), 32, 31);
    check_work(shared_work_of(strided(4, 132)), 1, 0);  // a padded row: bank = lane
  }

  TEST_CASE("a stride of two words makes pairs of lanes meet and a stride of three does not") {
    check_work(shared_work_of(strided(4, 8)), 2, 1);   // lanes i and i + 16
    check_work(shared_work_of(strided(4, 16)), 4, 3);  // gcd(4, 32)
    check_work(shared_work_of(strided(4, 12)), 1, 0);  // gcd(3, 32) = 1
    check_work(shared_work_of(strided(4, 24)), 2, 1);  // gcd(6, 32)
    check_work(shared_work_of(strided(4, 8, 0, 0x0000ffffu)), 1, 0);
  }

  TEST_CASE("8 and 16 bytes a lane take half a warp and a quarter at a time") {
    check_work(shared_work_of(strided(8, 8)), 2, 0);
    check_work(shared_work_of(strided(16, 16)), 4, 0);
    check_work(shared_work_of(strided(8, 8, 0, 0x0000ffffu)), 1, 0);
    check_work(shared_work_of(strided(16, 16, 0, 0x000000ffu)), 1, 0);
  }

  TEST_CASE("parts of the warp are served at once where neighbours want the same") {
    // H200, matmul/2_tiled: 16 bytes a lane, the same for each half of the warp, take 2 wavefronts.
    MemoryRequest halves = strided(16, 0);
    for (unsigned int lane_idx = 16; lane_idx < 32; ++lane_idx) halves.addresses[lane_idx] += 64;
    check_work(shared_work_of(halves), 2, 0);
    // 8 bytes, each twice, by neighbours or by lanes two apart: 16 pairs of words fill the banks once.
    MemoryRequest pairs = strided(8, 0);
    MemoryRequest next_but_one = strided(8, 0);
    for (unsigned int lane_idx = 0; lane_idx < 32; ++lane_idx) {
      pairs.addresses[lane_idx] += 8 * (lane_idx / 2);
      next_but_one.addresses[lane_idx] += 8 * (lane_idx / 4 * 2 + lane_idx % 2);
    }
    check_work(shared_work_of(pairs), 1, 0);
    check_work(shared_work_of(next_but_one), 1, 0);
    // Lanes four apart do not count.
    MemoryRequest four_apart = strided(8, 0);
    for (unsigned int lane_idx = 0; lane_idx < 32; ++lane_idx) {
      four_apart.addresses[lane_idx] += 8 * (lane_idx / 8 * 4 + lane_idx % 4);
    }
    check_work(shared_work_of(four_apart), 2, 0);
  }

  TEST_CASE("global atomics on the same number take turns") {
    CHECK(atomic_sectors_of(strided(4, 4)) == 4);
    CHECK(atomic_sectors_of(strided(4, 0)) == 32);
    CHECK(atomic_sectors_of(strided(4, 4, 0, 0xffu)) == 1);
    // H200, histogram/1_global_atomics: 11 numbers by 32 lanes, the first 10 of them three times: 3 turns
    // of 2 sectors (numbers 0 to 7 and 8 to 10).
    MemoryRequest bins = strided(4, 0);
    for (unsigned int lane_idx = 0; lane_idx < 32; ++lane_idx) {
      bins.addresses[lane_idx] += 4 * (lane_idx * 7 % 11);
    }
    CHECK(atomic_sectors_of(bins) == 6);
  }

  TEST_CASE("wide accesses that are not neighbours conflict within their part of the warp") {
    // 16 bytes every 128: eight lanes of a quarter want eight rows of the same four banks.
    check_work(shared_work_of(strided(16, 128)), 32, 28);
    check_work(shared_work_of(strided(8, 16)), 4, 2);  // 16 lanes · 4 words over 32 banks, twice
  }

  TEST_CASE("atomics on the same word wait for each other") {
    check_work(shared_atomic_work_of(strided(4, 4)), 1, 0);
    check_work(shared_atomic_work_of(strided(4, 0)), 32, 31);
    check_work(shared_atomic_work_of(strided(4, 0, 0, 0x7u)), 3, 2);
  }
}
