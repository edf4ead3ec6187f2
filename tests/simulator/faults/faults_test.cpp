// Every fault kernel is reported, with the right thread, line and array, in whatever order the lanes
// run; its sound twin passes. Of a race either of the two threads may be the one that comes second, so
// either sentence will do.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "simulator/simt/launch.h"
#include "tests/simulator/faults/run_fault.h"
#include "tests/support/source_place.h"

using namespace pagelab;

namespace {

// " at race_faults.cu:15", where a fault file has this mark.
std::string at(const std::string& mark) {
  const std::string name = mark.substr(0, mark.find(','));
  for (const char* file : {"access_faults.cu", "race_faults.cu", "warp_and_copy_faults.cu"}) {
    try {
      return " at " +
             test::source_place(std::string("tests/simulator/faults/") + file, "<- " + mark);
    } catch (const std::runtime_error&) {
    }
  }
  throw std::runtime_error("no fault kernel is marked `" + mark + "`");
}

// "kernel k, thread block (0, 0, 0), thread (5, 0, 0) at race_faults.cu:15 "
std::string who(const std::string& mark, int thread, int cta = 0) {
  const std::string name = mark.substr(0, mark.find(','));
  return "kernel " + name + ", thread block (" + std::to_string(cta) + ", 0, 0), thread (" +
         std::to_string(thread) + ", 0, 0)" + at(mark) + " ";
}

std::string thread_named(int thread) { return "thread (" + std::to_string(thread) + ", 0, 0)"; }

const std::string kBoundsHint = " Is a check of the index against the size missing?";
const std::string kBarrierHint = " Is a __syncthreads() missing?";
const std::string kWarpHint = " Is a __syncthreads() or __syncwarp() missing?";
const std::string kAtomicHint =
    " An atomic orders nothing but its like: is a __syncthreads() missing?";

struct Side {
  int thread;
  std::string mark;
  std::string does;  // "reads"
  std::string did;   // "read"
};

// The two sentences about a race, one for each order of the threads.
std::vector<std::string> race(const std::string& place,
                              const Side& one,
                              const Side& other,
                              const std::string& hint) {
  const auto sentence = [&](const Side& second, const Side& first) {
    return who(second.mark, second.thread) + second.does + " " + place + ", which " +
           thread_named(first.thread) + " " + first.did + at(first.mark) +
           " with no barrier in between: a race." + hint;
  };
  return {sentence(one, other), sentence(other, one)};
}

std::vector<std::string> read_and_write(const std::string& name,
                                        const std::string& place,
                                        int writer,
                                        int reader,
                                        const std::string& hint) {
  return race(place, {writer, name + ", the write", "writes", "wrote"},
              {reader, name + ", the read", "reads", "read"}, hint);
}

std::vector<std::string> two_writes(const std::string& name,
                                    const std::string& place,
                                    int one,
                                    int other,
                                    const std::string& hint) {
  const auto side = [&](int thread) -> Side {
    return {thread, name + ", thread " + std::to_string(thread), "writes", "wrote"};
  };
  return race(place, side(one), side(other), hint);
}

// What may be said of each fault.
std::map<std::string, std::vector<std::string>> expected_sentences() {
  std::map<std::string, std::vector<std::string>> expected;
  for (int thread = 4; thread < 8; ++thread) {
    expected["global_write_out_of_bounds"].push_back(
        who("global_write_out_of_bounds", thread) + "writes element " + std::to_string(thread) +
        " of array `small`, which has 4 elements of 4 bytes." + kBoundsHint);
  }
  expected["global_read_out_of_bounds"] = {
      who("global_read_out_of_bounds", 7) +
      "reads element 8 of array `x`, which has 8 elements of 4 bytes." + kBoundsHint};
  expected["shared_index_out_of_bounds"] = {
      who("shared_index_out_of_bounds", 7) +
      "takes element 8 of an array of type float [8], as `tile` is." + kBoundsHint};
  expected["shared_pointer_out_of_bounds"] = {
      "kernel shared_pointer_out_of_bounds, thread block (0, 0, 0), thread (7, 0, 0)" +
      at("shared_pointer_out_of_bounds") +
      " writes element 9 of shared array `tile`, which has 9 elements of 4 bytes." + kBoundsHint};
  expected["dynamic_shared_out_of_bounds"] = {
      who("dynamic_shared_out_of_bounds", 7) +
      "writes element 8 of dynamic shared memory, which has 8 elements of 4 bytes." + kBoundsHint};
  expected["misaligned_vector_load"] = {
      who("misaligned_vector_load", 3) +
      "reads 16 bytes at byte 4 of array `x`, but the address of an access of 16 bytes must be a "
      "multiple of 16."};
  expected["misaligned_vector_store"] = {
      who("misaligned_vector_store", 3) +
      "writes 8 bytes at byte 4 of array `y`, but the address of an access of 8 bytes must be a "
      "multiple of 8."};
  expected["null_pointer"] = {
      who("null_pointer", 3) +
      "reads through a null pointer. Is an array of the launch missing, or empty?"};
  expected["use_after_free"] = {
      who("use_after_free", 3) +
      "reads element 2 of array `freed`, which was freed (it had 8 elements of 4 bytes)."};
  expected["uninitialised_global_read"] = {
      who("uninitialised_global_read", 3) +
      "reads element 2 of array `unwritten`, which was never written (the array has 8 elements of "
      "4 "
      "bytes). Was it to be copied or filled before the launch?"};
  expected["uninitialised_shared_read"] = {
      who("uninitialised_shared_read", 0, 1) +
      "reads element 7 of shared array `tile`, which no thread of this thread block has written "
      "(it "
      "has 8 elements of 4 bytes). Shared memory holds anything when a thread block begins."};

  expected["shared_race_of_read_and_write"] = read_and_write(
      "shared_race_of_read_and_write", "element 3 of shared array `tile`", 5, 37, kBarrierHint);
  expected["shared_race_of_writes"] =
      two_writes("shared_race_of_writes", "element 3 of shared array `tile`", 5, 37, kBarrierHint);
  expected["global_race_of_read_and_write"] = read_and_write(
      "global_race_of_read_and_write", "element 3 of array `x`", 5, 37, kBarrierHint);
  expected["global_race_of_writes"] =
      two_writes("global_race_of_writes", "element 3 of array `x`", 5, 37, kBarrierHint);
  const std::string blocks_hint =
      " in the same launch: a race. Thread blocks run in any order: give each its own part, use "
      "atomics for all accesses, or launch twice.";
  const std::string write_of_block = "race_of_thread_blocks, the write";
  const std::string read_of_block = "race_of_thread_blocks, the read";
  expected["race_of_thread_blocks"] = {
      who(read_of_block, 2, 1) +
          "reads element 0 of array `x`, which thread (1, 0, 0) of thread block (0, 0, 0) wrote" +
          at(write_of_block) + blocks_hint,
      who(write_of_block, 1, 0) +
          "writes element 0 of array `x`, which thread (2, 0, 0) of thread block (1, 0, 0) read" +
          at(read_of_block) + blocks_hint};
  // In the first round thread i reads element i − 1, which thread i − 1 changes.
  for (int reader = 1; reader < 8; ++reader) {
    const std::string place = "element " + std::to_string(reader - 1) + " of shared array `sums`";
    for (const std::string& sentence :
         read_and_write("scan_in_place", place, reader - 1, reader, kWarpHint)) {
      expected["scan_in_place"].push_back(sentence);
    }
  }
  expected["race_of_atomic_and_read"] =
      race("element 0 of array `count`",
           {5, "race_of_atomic_and_read, thread 5", "changes atomically", "changed atomically"},
           {37, "race_of_atomic_and_read, the read", "reads", "read"}, kAtomicHint);
  for (const std::string& sentence :
       race("element 0 of array `count`",
            {6, "race_of_atomic_and_read, thread 6", "changes atomically", "changed atomically"},
            {37, "race_of_atomic_and_read, the read", "reads", "read"}, kAtomicHint)) {
    expected["race_of_atomic_and_read"].push_back(sentence);
  }
  expected["race_of_bytes"] =
      two_writes("race_of_bytes", "element 5 of array `bytes`", 5, 6, kWarpHint);

  const std::string tile_3 = "element 3 of shared array `tile`";
  for (const char* name :
       {"missing_syncwarp", "syncwarp_of_too_few_lanes", "shuffle_for_a_barrier"}) {
    expected[name] = read_and_write(name, tile_3, 5, 12, kWarpHint);
  }
  expected["syncwarp_between_warps"] =
      read_and_write("syncwarp_between_warps", tile_3, 5, 37, kBarrierHint);
  expected["read_before_the_wait"] = {who("read_before_the_wait, the read", 3) +
                                      "reads element 2 of shared array `tile`, which is the "
                                      "destination of an asynchronous copy that "
                                      "thread (3, 0, 0) began" +
                                      at("read_before_the_wait, the copy") +
                                      " and has not waited for. Is a cp_async_wait missing?"};
  // The copy writes at any time between its beginning and the wait.
  const std::string copy = "missing_barrier_after_the_wait, the copy";
  const std::string wait = "missing_barrier_after_the_wait, the wait";
  const std::string read = "missing_barrier_after_the_wait, the read";
  expected["missing_barrier_after_the_wait"] = {
      race(tile_3, {5, copy, "writes", "wrote"}, {37, read, "reads", "read"}, kBarrierHint)[0],
      race(tile_3, {5, wait, "writes", "wrote"}, {37, read, "reads", "read"}, kBarrierHint)[1]};
  return expected;
}

struct Order {
  std::string name;
  simt::ThreadOrder order;
  std::uint64_t seed;
};

std::vector<Order> all_orders() {
  std::vector<Order> orders = {{"ascending", simt::ThreadOrder::kAscending, 0},
                               {"descending", simt::ThreadOrder::kDescending, 0}};
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    orders.push_back(
        {"shuffled, seed " + std::to_string(seed), simt::ThreadOrder::kShuffled, seed});
  }
  return orders;
}

}  // namespace

TEST_SUITE("fault kernels") {
  TEST_CASE("every fault is reported with its thread and line and array in every order of lanes") {
    const std::shared_ptr<Device> device = checked_simulator_device();
    const auto expected = expected_sentences();
    const std::vector<Fault> faults = faults_of(*device);
    CHECK(faults.size() == expected.size());
    for (const Fault& fault : faults) {
      CAPTURE(std::string(fault.name));
      const std::vector<std::string>& sentences = expected.at(fault.name);
      for (const Order& order : all_orders()) {
        CAPTURE(order.name);
        const simt::ScopedThreadOrder scope(order.order, order.seed);
        const std::string error = run_fault(device, fault, Twin::kFaulty).error;
        const bool is_expected =
            std::find(sentences.begin(), sentences.end(), error) != sentences.end();
        CHECK_MESSAGE(is_expected, "got:      ", error, "\nexpected: ", sentences.front());
      }
    }
  }

  TEST_CASE("the sound twin of every fault passes in every order of lanes") {
    const std::shared_ptr<Device> device = checked_simulator_device();
    for (const Fault& fault : faults_of(*device)) {
      CAPTURE(std::string(fault.name));
      for (const Order& order : all_orders()) {
        CAPTURE(order.name);
        const simt::ScopedThreadOrder scope(order.order, order.seed);
        CHECK(run_fault(device, fault, Twin::kSound).error == "");
      }
    }
  }

  TEST_CASE("faults in shared memory are reported on every host thread") {
    const std::shared_ptr<Device> device = checked_simulator_device();
    const std::vector<Fault> faults = faults_of(*device);
    const auto errors = [&] {
      std::vector<std::string> errors;
      for (const Fault& fault : faults) {
        errors.push_back(run_fault(device, fault, Twin::kFaulty).error);
      }
      return errors;
    };
    const std::vector<std::string> here = errors();
    std::vector<std::string> there;
    std::vector<std::string> elsewhere;
    std::thread first([&] { there = errors(); });
    std::thread second([&] { elsewhere = errors(); });
    first.join();
    second.join();
    CHECK(there == here);
    CHECK(elsewhere == here);
  }

  TEST_CASE("S6: the scan with its barrier sums up and the one without is a race") {
    const std::shared_ptr<Device> device = checked_simulator_device();
    for (const Fault& fault : faults_of(*device)) {
      if (std::string(fault.name) != "scan_in_place") continue;
      std::vector<float> sums = run_fault(device, fault, Twin::kSound).y;
      sums.resize(8);
      CHECK(sums == std::vector<float>{1, 3, 6, 10, 15, 21, 28, 36});
      CHECK(run_fault(device, fault, Twin::kFaulty).error.find("a race") != std::string::npos);
    }
  }
}
