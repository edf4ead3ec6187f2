#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "reference/contract/error.h"
#include "simulator/engine/step/batch_reorder.h"
#include "simulator/engine/step/batch_split.h"

using namespace pagelab;

namespace {

// Requests of every kind, at random.
std::vector<ScheduledRequest> random_requests(std::mt19937& random) {
  std::vector<ScheduledRequest> requests(1 + random() % 20);
  for (ScheduledRequest& request : requests) {
    request.num_scheduled_tokens = 1 + random() % 5;
    request.num_computed_tokens = random() % 4;
    request.num_prompt_tokens = random() % 4;
  }
  return requests;
}

}  // namespace

TEST_SUITE("order of a batch") {
  TEST_CASE("a request's kind follows from what is computed and scheduled and prompted") {
    const auto kind = [](std::int64_t scheduled, std::int64_t computed, std::int64_t prompt) {
      return static_cast<int>(request_kind({scheduled, computed, prompt, 0}, 2));
    };
    CHECK(kind(1, 9, 9) == 0);  // decode
    CHECK(kind(2, 9, 9) == 0);  // decode with one draft
    CHECK(kind(2, 8, 9) == 1);  // short extend: its prompt goes on
    CHECK(kind(3, 9, 9) == 2);  // long extend
    CHECK(kind(1, 0, 1) == 3);  // prefill, though it is short
  }

  TEST_CASE("random batches end in four stretches and only misplaced requests move") {
    std::mt19937 random(20261130);
    for (int trial = 0; trial < 2000; ++trial) {
      const std::vector<ScheduledRequest> requests = random_requests(random);
      const BatchReorder reorder = reorder_batch_to_split_decodes_and_prefills(requests, 2);
      std::vector<int> before;
      std::vector<int> after;
      for (std::size_t place = 0; place < requests.size(); ++place) {
        before.push_back(static_cast<int>(request_kind(requests[place], 2)));
        const auto moved_here = static_cast<std::size_t>(reorder.order[place]);
        after.push_back(static_cast<int>(request_kind(requests[moved_here], 2)));
      }
      CAPTURE(trial);
      REQUIRE(std::is_sorted(after.begin(), after.end()));
      std::int64_t num_misplaced = 0;
      for (std::size_t place = 0; place < before.size(); ++place) {
        const bool stays = before[place] == after[place];
        num_misplaced += stays ? 0 : 1;
        if (stays) REQUIRE(reorder.order[place] == static_cast<std::int64_t>(place));
      }
      REQUIRE(static_cast<std::int64_t>(reorder.swaps.size()) <= num_misplaced);
      REQUIRE(reorder.modified == (num_misplaced > 0));
      std::vector<std::int64_t> sorted = reorder.order;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t place = 0; place < sorted.size(); ++place) {
        REQUIRE(sorted[place] == static_cast<std::int64_t>(place));
      }
    }
  }

  TEST_CASE("a batch is cut before its first prefill") {
    const std::vector<BatchRow> rows = {{2, 9}, {1, 9}, {5, 9}, {1, 9}};
    CHECK(split_decodes_and_prefills(rows, {.decode_threshold = 2}) == BatchSplit{2, 2, 3, 6});
    CHECK(split_decodes_and_prefills(rows, {.decode_threshold = 2, .require_uniform = true}) ==
          BatchSplit{1, 3, 2, 7});
    CHECK(split_decodes_and_prefills(rows, {.decode_threshold = 1}) == BatchSplit{0, 4, 0, 9});
    CHECK(split_decodes_and_prefills({}, {}) == BatchSplit{});
  }

  TEST_CASE("queries of at most one token are uniform wherever the padding stands") {
    const SplitRule uniform = {.decode_threshold = 1, .require_uniform = true};
    CHECK(split_decodes_and_prefills({{0, 0}, {1, 9}}, uniform) == BatchSplit{2, 0, 1, 0});
  }

  TEST_CASE("what is still prefilling is no decode if the backend says so") {
    const std::vector<BatchRow> rows = {{1, 9}, {1, 5, true}, {1, 9}};
    CHECK(split_decodes_and_prefills(rows, {}) == BatchSplit{3, 0, 3, 0});
    CHECK(split_decodes_and_prefills(rows, {.treat_short_extends_as_decodes = false}) ==
          BatchSplit{1, 2, 1, 2});
  }

  TEST_CASE("long queries with context are extends and without it prefills") {
    const std::vector<BatchRow> rows = {{1, 9}, {4, 9}, {4, 4}, {4, 9}};
    CHECK(split_decodes_prefills_and_extends(rows, 1) == ThreeWaySplit{1, 1, 2, 1, 4, 8});
  }

  TEST_CASE("numbers out of range are refused") {
    CHECK_THROWS_WITH_AS(reorder_batch_to_split_decodes_and_prefills({{0, 3, 3, 0}}, 1),
                         "request 0 has 0 scheduled tokens; a request of a batch has at least 1.",
                         Error);
    CHECK_THROWS_WITH_AS(reorder_batch_to_split_decodes_and_prefills({}, 0),
                         "decode_threshold is 0; it must be at least 1.", Error);
    CHECK_THROWS_WITH_AS(sorted_batch({{2, 3, 3, 2}}, 1),
                         "request 0 has 2 draft tokens among 2 scheduled ones; at least one is no "
                         "draft.",
                         Error);
    CHECK_THROWS_WITH_AS(split_decodes_and_prefills({{-1, 0}}, {}),
                         "query_len is -1; it must be at least 0.", Error);
  }
}
