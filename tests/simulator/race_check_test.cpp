// Races, against a definition that compares every access with every other: small random programs of
// accesses and barriers must be reported if and only if two of their accesses race.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "simulator/simt/access_check.h"
#include "simulator/simt/cuda_words.h"
#include "simulator/simt/device_memory.h"
#include "simulator/simt/error.h"
#include "simulator/simt/launch.h"

using namespace pagelab;
using simt::AccessKind;

namespace {

constexpr unsigned int kThreads = 40;  // one warp and a part of another
constexpr std::size_t kMaxBytes = 16;  // of the one array that all threads touch
constexpr unsigned int kEpochs = 3;    // parted by __syncthreads
constexpr unsigned int kPhases = 3;    // of an epoch, parted by __syncwarps

// An access in a program.
struct Touch {
  unsigned int cta;
  unsigned int thread;
  unsigned int epoch;
  unsigned int phase;
  std::size_t offset;
  std::size_t bytes;
  AccessKind kind;
};

// Which lanes meet after a phase: disjoint masks. The same in every warp and epoch.
using Meetings = std::array<std::vector<unsigned int>, kPhases - 1>;

struct Program {
  std::vector<Touch> touches;
  Meetings meetings;
};

// Whether a lane's phase comes before another's: there is a way from one to the other through meetings.
bool leads_to(unsigned int lane,
              unsigned int phase,
              unsigned int to_lane,
              unsigned int to_phase,
              const Meetings& meetings) {
  if (lane == to_lane && phase <= to_phase) return true;
  if (phase >= to_phase) return false;
  for (unsigned int mask : meetings[phase]) {
    if ((mask >> lane & 1u) == 0) continue;
    for (unsigned int next = 0; next < 32; ++next) {
      const bool meets = (mask >> next & 1u) != 0;
      if (meets && leads_to(next, phase + 1, to_lane, to_phase, meetings)) return true;
    }
  }
  return leads_to(lane, phase + 1, to_lane, to_phase, meetings);
}

bool are_ordered(const Touch& one, const Touch& other, const Meetings& meetings) {
  if (one.cta != other.cta) return false;
  if (one.thread == other.thread || one.epoch != other.epoch) return true;
  if (one.thread / 32 != other.thread / 32) return false;
  const unsigned int lane = one.thread % 32;
  const unsigned int other_lane = other.thread % 32;
  return leads_to(lane, one.phase, other_lane, other.phase, meetings) ||
         leads_to(other_lane, other.phase, lane, one.phase, meetings);
}

// The definition.
bool race(const Touch& one, const Touch& other, const Meetings& meetings) {
  const bool overlap =
      one.offset < other.offset + other.bytes && other.offset < one.offset + one.bytes;
  const bool both_read = one.kind == AccessKind::kRead && other.kind == AccessKind::kRead;
  const bool both_atomic = one.kind == AccessKind::kAtomic && other.kind == AccessKind::kAtomic;
  return overlap && !both_read && !both_atomic && !are_ordered(one, other, meetings);
}

bool any_race(const Program& program) {
  for (const Touch& one : program.touches) {
    for (const Touch& other : program.touches) {
      if (race(one, other, program.meetings)) return true;
    }
  }
  return false;
}

// How programs differ: which widths and kinds, how many accesses, by whom, to how many bytes.
struct Recipe {
  std::string name;
  std::vector<std::size_t> widths;
  std::vector<AccessKind> kinds;
  int num_touches;
  unsigned int num_ctas = 1;
  unsigned int num_threads = kThreads;
  std::size_t bytes = kMaxBytes;
  bool meets_in_parts = false;  // not all lanes of a warp at once
};

Program random_program(const Recipe& recipe, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return static_cast<unsigned int>(random() % limit); };
  Program program;
  for (int i = 0; i < recipe.num_touches; ++i) {
    Touch touch;
    touch.cta = below(recipe.num_ctas);
    touch.thread = below(recipe.num_threads);
    touch.epoch = below(recipe.meets_in_parts ? 1 : kEpochs);
    touch.phase = below(kPhases);
    touch.kind = recipe.kinds[below(recipe.kinds.size())];
    touch.bytes = recipe.widths[below(recipe.widths.size())];
    if (touch.kind == AccessKind::kAtomic) touch.bytes = 4;
    touch.offset = below(recipe.bytes / touch.bytes) * touch.bytes;
    program.touches.push_back(touch);
  }
  for (std::vector<unsigned int>& masks : program.meetings) {
    const unsigned int part = recipe.meets_in_parts ? static_cast<unsigned int>(random()) : ~0u;
    if (part != 0) masks.push_back(part);
    if (part != ~0u && below(2) == 0) masks.push_back(~part);
  }
  return program;
}

// As a kernel's access comes from the compiler's hook, or from a word of CUDA.
void touch_memory(const Touch& touch, std::byte* array) {
  const std::byte* const address = array + touch.offset;
  const bool reads = touch.kind == AccessKind::kRead;
  const auto touch_as = [&]<std::size_t kBytes>() {
    if (reads) simt::check_fixed_access<kBytes, AccessKind::kRead>(address, nullptr);
    if (!reads) simt::check_fixed_access<kBytes, AccessKind::kWrite>(address, nullptr);
  };
  const bool comes_from_hook = (touch.thread + touch.offset) % 4 != 0;
  if (touch.kind == AccessKind::kAtomic || !comes_from_hook) {
    return simt::check_access(address, touch.bytes, touch.kind, nullptr);
  }
  if (touch.bytes == 1) touch_as.operator()<1>();
  if (touch.bytes == 2) touch_as.operator()<2>();
  if (touch.bytes == 4) touch_as.operator()<4>();
  if (touch.bytes == 8) touch_as.operator()<8>();
  if (touch.bytes == 16) touch_as.operator()<16>();
}

// Runs a program and returns the simulator's sentence.
std::string error_of(const Program& program, unsigned int ctas, std::byte* array) {
  const auto run_phase = [&](unsigned int epoch, unsigned int phase) {
    for (const Touch& touch : program.touches) {
      const bool is_mine = touch.cta == blockIdx.x && touch.thread == threadIdx.x;
      if (is_mine && touch.epoch == epoch && touch.phase == phase) touch_memory(touch, array);
    }
  };
  const auto meet = [&](unsigned int phase) {
    for (unsigned int mask : program.meetings[phase]) {
      if ((mask >> threadIdx.x % 32 & 1u) != 0) __syncwarp(mask);
    }
  };
  try {
    simt::launch({"random", ctas, kThreads, 0, simt::Checks::kOn}, [&] {
      for (unsigned int epoch = 0; epoch < kEpochs; ++epoch) {
        for (unsigned int phase = 0; phase < kPhases; ++phase) {
          run_phase(epoch, phase);
          if (phase + 1 < kPhases) meet(phase);
        }
        __syncthreads();
      }
    });
  } catch (const simt::Error& error) {
    return error.what();
  }
  return "";
}

// With meetings of parts of a warp, the two reads that are remembered may not be enough.
bool may_be_missed(const Recipe& recipe, const Program& program) {
  const auto reads = [](const Touch& touch) { return touch.kind == AccessKind::kRead; };
  return recipe.meets_in_parts &&
         std::count_if(program.touches.begin(), program.touches.end(), reads) > 2;
}

void check_recipe(const Recipe& recipe) {
  CAPTURE(recipe.name);
  std::byte* const array =
      static_cast<std::byte*>(simt::device_memory().allocate(kMaxBytes, "touched"));
  simt::device_memory().fill(array, 0, kMaxBytes);
  std::mt19937 random(20261129);
  int num_races = 0;
  constexpr int kPrograms = 500;
  for (int i = 0; i < kPrograms; ++i) {
    CAPTURE(i);
    const Program program = random_program(recipe, random);
    if (may_be_missed(recipe, program)) continue;
    const bool expected = any_race(program);
    num_races += expected ? 1 : 0;
    for (const auto order : {simt::ThreadOrder::kAscending, simt::ThreadOrder::kDescending,
                             simt::ThreadOrder::kShuffled}) {
      const simt::ScopedThreadOrder scope(order, static_cast<std::uint64_t>(i));
      const std::string error = error_of(program, recipe.num_ctas, array);
      CHECK_MESSAGE((error.find("a race") != std::string::npos) == expected, error);
    }
  }
  // Enough of both.
  CHECK(num_races > kPrograms / 20);
  CHECK(num_races < kPrograms * 19 / 20);
  simt::device_memory().free(array);
}

// Takes a quarter of all stamps: a thread block of 1,024 whose lane 0 meets itself a million times.
void use_up_a_quarter() {
  constexpr unsigned int kMostMeetings = (1u << 20) - 1;
  for (unsigned int i = 0; i < kMostMeetings; ++i) simt::lanes_met(0, 1);
}

// Thread 5 writes a word, and thread 900 reads it, with a barrier in between or without; before that, most
// stamps are used up.
std::string error_after_most_stamps(std::byte* word, bool meets_at_the_end) {
  const auto write = [&] { simt::check_fixed_access<4, AccessKind::kWrite>(word, nullptr); };
  try {
    simt::launch({"long", 1, 1024, 0, simt::Checks::kOn}, [&] {
      for (int quarter = 0; quarter < 3; ++quarter) {
        if (threadIdx.x == 5) write();
        if (threadIdx.x == 0) use_up_a_quarter();
        __syncthreads();
      }
      if (threadIdx.x == 5) write();
      if (meets_at_the_end) __syncthreads();
      if (threadIdx.x == 900) simt::check_fixed_access<4, AccessKind::kRead>(word, nullptr);
    });
  } catch (const simt::Error& error) {
    return error.what();
  }
  return "";
}

constexpr AccessKind kRead = AccessKind::kRead;
constexpr AccessKind kWrite = AccessKind::kWrite;
constexpr AccessKind kAtomic = AccessKind::kAtomic;

}  // namespace

TEST_SUITE("simulator race check") {
  TEST_CASE("random programs of words are reported if and only if they race") {
    check_recipe({.name = "few writes",
                  .widths = {4},
                  .kinds = {kRead, kRead, kRead, kWrite},
                  .num_touches = 8});
    check_recipe({.name = "a warp",
                  .widths = {4},
                  .kinds = {kRead, kWrite},
                  .num_touches = 6,
                  .num_threads = 5});
    check_recipe({.name = "many reads",
                  .widths = {4},
                  .kinds = {kRead, kRead, kRead, kRead, kRead, kRead, kWrite},
                  .num_touches = 9,
                  .bytes = 4});
  }

  TEST_CASE("random programs of every width are reported if and only if they race") {
    check_recipe({.name = "bytes", .widths = {1}, .kinds = {kRead, kWrite}, .num_touches = 10});
    check_recipe({.name = "halves", .widths = {2}, .kinds = {kRead, kWrite}, .num_touches = 7});
    check_recipe({.name = "a word and its parts",
                  .widths = {1, 2, 4},
                  .kinds = {kRead, kRead, kWrite},
                  .num_touches = 5,
                  .bytes = 4});
    check_recipe({.name = "all but vectors",
                  .widths = {1, 1, 2, 2, 4, 8},
                  .kinds = {kRead, kRead, kWrite},
                  .num_touches = 8});
    check_recipe({.name = "all",
                  .widths = {1, 2, 4, 8, 16},
                  .kinds = {kRead, kRead, kRead, kWrite},
                  .num_touches = 6});
  }

  TEST_CASE("random programs with atomics are reported if and only if they race") {
    check_recipe({.name = "atomics and reads",
                  .widths = {4},
                  .kinds = {kAtomic, kAtomic, kAtomic, kRead},
                  .num_touches = 8});
    check_recipe({.name = "all kinds",
                  .widths = {4},
                  .kinds = {kAtomic, kAtomic, kRead, kRead, kWrite},
                  .num_touches = 7});
    check_recipe({.name = "all kinds and widths",
                  .widths = {1, 2, 4, 8},
                  .kinds = {kAtomic, kAtomic, kRead, kWrite},
                  .num_touches = 6});
  }

  TEST_CASE("random programs of thread blocks are reported if and only if they race") {
    check_recipe({.name = "words",
                  .widths = {4},
                  .kinds = {kRead, kRead, kRead, kWrite},
                  .num_touches = 7,
                  .num_ctas = 2});
    check_recipe({.name = "one word",
                  .widths = {4},
                  .kinds = {kRead, kRead, kRead, kRead, kRead, kWrite},
                  .num_touches = 5,
                  .num_ctas = 3,
                  .bytes = 4});
    check_recipe({.name = "all",
                  .widths = {1, 2, 4, 8},
                  .kinds = {kRead, kRead, kRead, kAtomic, kWrite},
                  .num_touches = 6,
                  .num_ctas = 2});
  }

  TEST_CASE(
      "a launch that uses up the stamps goes on and still tells races from what barriers order") {
    std::byte* const word = static_cast<std::byte*>(simt::device_memory().allocate(4, "word"));
    simt::device_memory().fill(word, 0, 4);
    const unsigned int age = simt::happens_before.age();
    CHECK(error_after_most_stamps(word, true) == "");
    CHECK(simt::happens_before.age() > age);
    const std::string error = error_after_most_stamps(word, false);
    CHECK_MESSAGE(error.find("thread (5, 0, 0) wrote") != std::string::npos, error);
    simt::device_memory().free(word);
  }

  TEST_CASE("a million warp barriers without a barrier of the thread block are too many") {
    try {
      simt::launch({"spinning", 1, 32, 0, simt::Checks::kOn}, [&] {
        if (threadIdx.x != 0) return;
        use_up_a_quarter();
        simt::lanes_met(0, 1);
      });
      FAIL("nothing was reported");
    } catch (const simt::Error& error) {
      const std::string sentence = error.what();
      CHECK(sentence.find("more than a million __syncwarp()") != std::string::npos);
    }
  }

  TEST_CASE("random programs of lanes that meet in parts are reported if and only if they race") {
    check_recipe({.name = "writes",
                  .widths = {4},
                  .kinds = {kWrite},
                  .num_touches = 3,
                  .num_threads = 6,
                  .bytes = 8,
                  .meets_in_parts = true});
    check_recipe({.name = "reads too",
                  .widths = {4},
                  .kinds = {kWrite, kRead},
                  .num_touches = 4,
                  .num_threads = 4,
                  .bytes = 8,
                  .meets_in_parts = true});
    check_recipe({.name = "halves",
                  .widths = {2, 4},
                  .kinds = {kWrite, kRead},
                  .num_touches = 4,
                  .num_threads = 4,
                  .bytes = 8,
                  .meets_in_parts = true});
  }
}
