// S5, S7: threads that never meet are reported, with who came and who did not and where, in whatever
// order the threads run; the sound twins pass. Also without the checks, which the meetings do not need;
// then source lines are those of code that a compiler has moved about, and are not compared.

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "simulator/simt/launch.h"
#include "tests/gpu/devices.h"
#include "tests/simulator/faults/run_fault.h"
#include "tests/simulator/meetings/meeting_faults.h"
#include "tests/support/source_place.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

std::vector<Fault> faults_of_kind(const Device& device, const std::string& kind) {
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
  if (device.kind() == DeviceKind::kCheckedSimulator) {
    if (kind == "barrier") return on_checked_simulator::barrier_faults();
    if (kind == "warp") return on_checked_simulator::warp_faults();
    if (kind == "lock") return on_checked_simulator::lock_faults();
    return on_checked_simulator::template_sweep_faults();
  }
#endif
  REQUIRE(device.kind() == DeviceKind::kSimulator);
  if (kind == "barrier") return on_simulator::barrier_faults();
  if (kind == "warp") return on_simulator::warp_faults();
  if (kind == "lock") return on_simulator::lock_faults();
  return on_simulator::template_sweep_faults();
}

// " at barrier_faults.cu:15", where a file has this mark.
std::string at(const std::string& file, const std::string& mark) {
  return " at " + source_place("tests/simulator/meetings/" + file, "<- " + mark);
}

const std::string kAllThreads =
    " Every thread of the block must reach a barrier: put it outside the branch, or let a thread "
    "without work skip the work and not the barrier.";
const std::string kSameBarrier = " Every thread of the block must reach the same barrier.";
const std::string kAllLanes = " Every lane that the mask names must come to the same call.";

// "kernel k, thread block (0, 0, 0)".
std::string kernel(const std::string& name) {
  return "kernel " + name + ", thread block (0, 0, 0)";
}

std::map<std::string, std::string> barrier_sentences() {
  const auto at_mark = [](const std::string& mark) { return at("barrier_faults.cu", mark); };
  const auto two_places = [&](const std::string& name, const char* one, const char* other,
                              const std::string& thread) {
    return kernel(name) + ": threads wait at different barriers: thread 0 at " + one +
           at_mark(name + ", first") + ", thread " + thread + " at " + other +
           at_mark(name + ", second") + "." + kSameBarrier;
  };
  return {
      {"barrier_in_a_branch", kernel("barrier_in_a_branch") + ": __syncthreads" +
                                  at_mark("barrier_in_a_branch") +
                                  " is a divergent barrier: 14 of 32 threads came, but threads 14 "
                                  "to 31 have returned." +
                                  kAllThreads},
      {"return_before_a_barrier", kernel("return_before_a_barrier") + ": __syncthreads" +
                                      at_mark("return_before_a_barrier") +
                                      " is a divergent barrier: 45 of 64 threads came, but threads "
                                      "45 to 63 have returned." +
                                      kAllThreads},
      {"two_barriers_of_an_if",
       two_places("two_barriers_of_an_if", "__syncthreads", "__syncthreads", "32")},
      {"barrier_against_count",
       two_places("barrier_against_count", "__syncthreads_count", "__syncthreads", "16")},
      {"loops_of_two_lengths", kernel("loops_of_two_lengths") + ": __syncthreads" +
                                   at_mark("loops_of_two_lengths") +
                                   " is a divergent barrier: 32 of 64 threads came, but threads 0 "
                                   "to 31 have returned." +
                                   kAllThreads},
      {"barrier_against_syncwarp",
       kernel("barrier_against_syncwarp") + ", warp 0: __syncwarp" +
           at_mark("barrier_against_syncwarp, second") +
           " with the mask 0xffffffff waits for ever: lane 5 came, but lanes 0 to 4, 6 to 31 wait "
           "at __syncthreads" +
           at_mark("barrier_against_syncwarp, first") + "." + kAllLanes},
  };
}

std::map<std::string, std::string> warp_sentences() {
  const auto at_mark = [](const std::string& mark) { return at("warp_faults.cu", mark); };
  return {
      {"shuffle_after_a_return", kernel("shuffle_after_a_return") + ", warp 0: __shfl_down_sync" +
                                     at_mark("shuffle_after_a_return") +
                                     " with the mask 0xffffffff waits for ever: lanes 0 to 19 "
                                     "came, but lanes 20 to 31 have returned." +
                                     kAllLanes},
      {"shuffle_in_a_branch",
       kernel("shuffle_in_a_branch") + ", warp 0: __shfl_sync" +
           at_mark("shuffle_in_a_branch, first") +
           " with the mask 0xffffffff waits for ever: lanes 0 to 15 came, but lanes 16 to 31 wait "
           "at __syncwarp" +
           at_mark("shuffle_in_a_branch, second") + " with the mask 0xffffffff." + kAllLanes},
      {"value_of_an_absent_lane",
       kernel("value_of_an_absent_lane") + ", thread (8, 0, 0): __shfl_down_sync" +
           at_mark("value_of_an_absent_lane") +
           " takes the value of lane 16, which does not take part. On a GPU any value may come of "
           "it."},
      {"mask_without_the_caller",
       kernel("mask_without_the_caller") + ", thread (20, 0, 0): __any_sync" +
           at_mark("mask_without_the_caller") +
           " has the mask 0x000fffff, which leaves out the calling lane 20. A mask names every "
           "lane that takes part, the caller among them."},
      {"width_of_twelve", kernel("width_of_twelve") + ", thread (7, 0, 0): __shfl_sync" +
                              at_mark("width_of_twelve") +
                              " has the width 12, but it must be 1, 2, 4, 8, 16 or 32."},
      {"two_masks", kernel("two_masks") + ", warp 0: __ballot_sync" + at_mark("two_masks") +
                        " with the mask 0xffffffff waits for ever: lanes 0 to 7 came, but lanes 8 "
                        "to 31 wait at __ballot_sync" +
                        at_mark("two_masks") + " with the mask 0xffffff80." + kAllLanes},
      {"vote_against_shuffle",
       kernel("vote_against_shuffle") + ", warp 0: __any_sync" +
           at_mark("vote_against_shuffle, first") +
           " with the mask 0xffffffff waits for ever: lanes 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, "
           "22, 24, 26, 28, 30 came, but lanes 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, "
           "29, 31 wait at __shfl_sync" +
           at_mark("vote_against_shuffle, second") + " with the mask 0xffffffff." + kAllLanes},
  };
}

// Of a sentence about a lock: which thread says it, and after how many attempts, is left open.
std::string lock_sentence(const std::string& name) {
  return kernel(name) + ", thread (t, 0, 0): an atomic" + at("lock_faults.cu", name) +
         " spins for ever: the threads of its block have tried atomics without effect n times, and "
         "done nothing else. Was a lock never given back, or taken twice, or does it wait for "
         "another thread block? (The simulator may run one to its end before the next begins, as a "
         "GPU does when it is full.)";
}

// Puts a letter in the place of the number after a text.
std::string without_number(const std::string& sentence, const std::string& before, char letter) {
  const std::size_t place = sentence.find(before);
  if (place == std::string::npos) return sentence;
  const std::size_t begin = place + before.size();
  const std::size_t end = sentence.find_first_not_of("0123456789", begin);
  return sentence.substr(0, begin) + letter + sentence.substr(end);
}

std::string without_numbers_of_locks(const std::string& sentence) {
  if (sentence.find("spins for ever") == std::string::npos) return sentence;
  return without_number(without_number(sentence, "thread (", 't'), "effect ", 'n');
}

// Leaves out each " at barrier_faults.cu:15".
std::string without_lines(std::string sentence) {
  for (;;) {
    const std::size_t colon = sentence.find(".cu:");
    if (colon == std::string::npos) return sentence;
    const std::size_t begin = sentence.rfind(" at ", colon);
    const std::size_t end = sentence.find_first_not_of("0123456789", colon + 4);
    sentence.erase(begin, end - begin);
  }
}

// Each order of threads, after which nothing may depend on it.
template <typename Check>
void in_every_order(const Check& check) {
  for (const simt::ThreadOrder order :
       {simt::ThreadOrder::kAscending, simt::ThreadOrder::kDescending}) {
    CAPTURE(static_cast<int>(order));
    const simt::ScopedThreadOrder scope(order);
    check();
  }
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    const simt::ScopedThreadOrder scope(simt::ThreadOrder::kShuffled, seed);
    check();
  }
}

void check_fault(const std::shared_ptr<Device>& device,
                 const Fault& fault,
                 const std::string& expected) {
  CAPTURE(std::string(fault.name));
  CAPTURE(device->name());
  const std::string got = without_numbers_of_locks(run_fault(device, fault, Twin::kFaulty).error);
  if (device->kind() == DeviceKind::kCheckedSimulator) {
    CHECK(got == expected);
  } else {
    CHECK(without_lines(got) == without_lines(expected));
  }
  CHECK(run_fault(device, fault, Twin::kSound).error == "");
}

// A barrier's copies by the compiler look like different barriers without the source's lines.
bool needs_checks(const std::string& fault) { return fault == "two_barriers_of_an_if"; }

void check_all(const std::string& kind, const std::map<std::string, std::string>& sentences) {
  for (const auto& device : simulators()) {
    const std::vector<Fault> faults = faults_of_kind(*device, kind);
    CHECK(faults.size() == sentences.size());
    for (const Fault& fault : faults) {
      if (needs_checks(fault.name) && device->kind() == DeviceKind::kSimulator) continue;
      check_fault(device, fault, sentences.at(fault.name));
    }
  }
}

}  // namespace

TEST_SUITE("meetings") {
  TEST_CASE("S5: a barrier that not all threads reach is reported with its line and the threads") {
    in_every_order([] { check_all("barrier", barrier_sentences()); });
  }

  TEST_CASE("a word of a warp that not all lanes reach is reported with its line and the lanes") {
    in_every_order([] { check_all("warp", warp_sentences()); });
  }

#if defined(PAGELAB_HAS_CHECKED_KERNELS)
  TEST_CASE("static and dynamic shared memory that are too much together are reported") {
    for (const Fault& fault : on_checked_simulator::launch_faults()) {
      const std::string name = fault.name;
      check_fault(checked_simulator_device(), fault,
                  kernel(name) +
                      ": its static shared arrays have 40960 bytes, and the launch asked "
                      "for 204800 of dynamic shared memory, but a thread block has at "
                      "most 232448 of both.");
    }
  }
#endif

  TEST_CASE("S7: of all configurations of a template only the one with a divergent barrier fails") {
    in_every_order([] {
      for (const auto& device : simulators()) {
        for (const Fault& fault : faults_of_kind(*device, "template sweep")) {
          CAPTURE(std::string(fault.name));
          const std::string name = fault.name;
          const std::string expected =
              name != "sum_columns_256"
                  ? ""
                  : kernel(name) + ": __syncthreads" + at("template_sweep_faults.cu", name) +
                        " is a divergent barrier: 128 of 256 threads came, but threads 128 to 255 "
                        "have returned." +
                        kAllThreads;
          check_fault(device, fault, expected);
        }
      }
    });
  }

  TEST_CASE("a thread that spins for ever is reported and one that waits its turn is not") {
    for (const auto& device : simulators()) {
      for (const Fault& fault : faults_of_kind(*device, "lock")) {
        const std::string name = fault.name;
        // Two thread blocks do run together where there are two cores.
        const bool may_work =
            name == "waits_for_a_thread_block" && device->kind() == DeviceKind::kSimulator;
        if (!may_work) check_fault(device, fault, lock_sentence(name));
      }
    }
  }

  TEST_CASE("lanes of a warp that fight for a lock all get it in every order of threads") {
    in_every_order([] {
      for (const auto& device : simulators()) {
        for (const Fault& fault : faults_of_kind(*device, "lock")) {
          CAPTURE(std::string(fault.name));
          CHECK(run_fault(device, fault, Twin::kSound).error == "");
        }
      }
    });
  }
}
