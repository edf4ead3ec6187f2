// Races, against a definition that compares every access with every other: small random programs of
// accesses and barriers must be reported if and only if two of their accesses race.

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "simulator/simt/checks.h"
#include "simulator/simt/cuda_words.h"
#include "simulator/simt/device_memory.h"
#include "simulator/simt/error.h"
#include "simulator/simt/launch.h"

using namespace pagelab;
using simt::AccessKind;

namespace {

constexpr unsigned int kThreads = 40;  // one warp and a part of another
constexpr unsigned int kCtas = 2;
constexpr std::size_t kBytes = 16;  // of the one array that all threads touch

// An access in a program; meetings lie between the accesses of a thread.
struct Touch {
  unsigned int cta;
  unsigned int thread;
  unsigned int epoch;  // __syncthreads before it
  unsigned int clock;  // __syncwarps before it since then: 0 or 1
  std::size_t offset;
  std::size_t bytes;
  AccessKind kind;
};

bool overlap(const Touch& one, const Touch& other) {
  return one.offset < other.offset + other.bytes && other.offset < one.offset + one.bytes;
}

bool are_ordered(const Touch& one, const Touch& other) {
  if (one.cta != other.cta) return false;
  if (one.thread == other.thread || one.epoch != other.epoch) return true;
  return one.thread / 32 == other.thread / 32 && one.clock != other.clock;
}

// The definition.
bool race(const Touch& one, const Touch& other) {
  const bool both_read = one.kind == AccessKind::kRead && other.kind == AccessKind::kRead;
  const bool both_atomic = one.kind == AccessKind::kAtomic && other.kind == AccessKind::kAtomic;
  return overlap(one, other) && !both_read && !both_atomic && !are_ordered(one, other);
}

bool any_race(const std::vector<Touch>& program) {
  for (const Touch& one : program) {
    for (const Touch& other : program) {
      if (race(one, other)) return true;
    }
  }
  return false;
}

// How programs differ: which widths and kinds, and how many accesses.
struct Recipe {
  std::string name;
  std::vector<std::size_t> widths;
  std::vector<AccessKind> kinds;
  int num_touches;
  unsigned int num_ctas = 1;
  unsigned int num_threads = kThreads;
};

std::vector<Touch> random_program(const Recipe& recipe, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return random() % limit; };
  std::vector<Touch> program;
  for (int i = 0; i < recipe.num_touches; ++i) {
    Touch touch;
    touch.cta = static_cast<unsigned int>(below(recipe.num_ctas));
    touch.thread = static_cast<unsigned int>(below(recipe.num_threads));
    touch.epoch = static_cast<unsigned int>(below(3));
    touch.clock = static_cast<unsigned int>(below(2));
    touch.kind = recipe.kinds[below(recipe.kinds.size())];
    touch.bytes = recipe.widths[below(recipe.widths.size())];
    if (touch.kind == AccessKind::kAtomic) touch.bytes = 4;
    touch.offset = below(kBytes / touch.bytes) * touch.bytes;
    program.push_back(touch);
  }
  return program;
}

// Runs a program as a kernel would, and returns the simulator's sentence.
std::string error_of(const std::vector<Touch>& program, unsigned int ctas, std::byte* array) {
  const auto touch_all = [&](unsigned int epoch, unsigned int clock) {
    for (const Touch& touch : program) {
      if (touch.cta != blockIdx.x || touch.thread != threadIdx.x) continue;
      if (touch.epoch != epoch || touch.clock != clock) continue;
      simt::check_access(array + touch.offset, touch.bytes, touch.kind, nullptr);
    }
  };
  try {
    simt::launch({"random", ctas, kThreads, 0, simt::Checks::kOn}, [&] {
      for (unsigned int epoch = 0; epoch < 3; ++epoch) {
        touch_all(epoch, 0);
        __syncwarp(0xffffffffu);
        touch_all(epoch, 1);
        __syncthreads();
      }
    });
  } catch (const simt::Error& error) {
    return error.what();
  }
  return "";
}

void check_recipe(const Recipe& recipe) {
  CAPTURE(recipe.name);
  std::byte* const array =
      static_cast<std::byte*>(simt::device_memory().allocate(kBytes, "touched"));
  simt::device_memory().fill(array, 0, kBytes);
  std::mt19937 random(20261129);
  int num_races = 0;
  constexpr int kPrograms = 400;
  for (int i = 0; i < kPrograms; ++i) {
    CAPTURE(i);
    const std::vector<Touch> program = random_program(recipe, random);
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
  CHECK(num_races > kPrograms / 10);
  CHECK(num_races < kPrograms * 9 / 10);
  simt::device_memory().free(array);
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
                  .kinds = {kRead, kRead, kRead, kRead, kRead, kRead, kRead, kWrite},
                  .num_touches = 12});
  }

  TEST_CASE("random programs of every width are reported if and only if they race") {
    check_recipe({.name = "bytes", .widths = {1}, .kinds = {kRead, kWrite}, .num_touches = 10});
    check_recipe({.name = "halves", .widths = {2}, .kinds = {kRead, kWrite}, .num_touches = 7});
    check_recipe({.name = "all",
                  .widths = {1, 1, 2, 2, 4, 8},
                  .kinds = {kRead, kRead, kWrite},
                  .num_touches = 8});
    check_recipe({.name = "vectors",
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

  TEST_CASE("random programs of two thread blocks are reported if and only if they race") {
    check_recipe({.name = "words",
                  .widths = {4},
                  .kinds = {kRead, kRead, kRead, kWrite},
                  .num_touches = 7,
                  .num_ctas = kCtas});
    check_recipe({.name = "all",
                  .widths = {1, 2, 4, 8},
                  .kinds = {kRead, kRead, kRead, kAtomic, kWrite},
                  .num_touches = 6,
                  .num_ctas = kCtas});
  }
}
