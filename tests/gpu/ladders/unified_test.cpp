// The two forms of unified, whose rows are pairs of a query and a head: within the derived bound of REFERENCE
// in every case of the tables, and no bit changed by anything that is not the row's own.

#include <doctest/doctest.h>

#include "gpu/backends/naive.h"
#include "gpu/kernels/unified/segments.h"
#include "tests/gpu/ladders/prefill_checks.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

std::unique_ptr<AttentionBackend> two_dimensional(const std::shared_ptr<Device>& device) {
  return make_backend_of_rung(device, kernels_of(*device).unified[0]);
}

std::unique_ptr<AttentionBackend> segmented(const std::shared_ptr<Device>& device) {
  return make_backend_of_rung(device, kernels_of(*device).unified[1]);
}

constexpr std::unique_ptr<AttentionBackend> (*kForms[])(const std::shared_ptr<Device>&) = {
    &two_dimensional, &segmented};

// Contexts around the first change of the length of a segment, at 256 keys; groups that fill a tile, do not
// divide it, and exceed it; heads that are seldom.
std::vector<AttentionCase> unified_cases() {
  std::vector<AttentionCase> cases;
  const auto add = [&](const char* name, const auto& change) {
    RandomStepOptions options;
    options.num_query_heads = 2;
    options.num_kv_heads = 1;
    options.head_size = options.head_size_v = 16;
    options.block_size = 16;
    options.requests = {{1, 33}, {7, 40}, {1, 5}};
    change(options);
    cases.push_back({name, options, 300 + cases.size()});
  };
  add("around 256 keys", [](auto& o) { o.requests = {{1, 255}, {1, 256}, {1, 257}, {2, 600}}; });
  add("a window across two segments", [](auto& o) {
    o.requests = {{1, 300}, {3, 290}};
    o.window_left = 40;
    o.sinks = true;
  });
  add("prefix ranges far from the window", [](auto& o) {
    o.requests = {{12, 530}};
    o.mm_prefix = true;
    o.window_left = 4;
  });
  add("sinks and ALiBi and a soft cap", [](auto& o) {
    o.requests = {{1, 300}, {4, 9}};
    o.sinks = o.alibi = true;
    o.logit_softcap = 1.5;
  });
  add("K2 and K3: 28 query heads on 4 KV heads", [](auto& o) {
    o.num_query_heads = 28;
    o.num_kv_heads = 4;
  });
  for (std::int64_t group : {3, 5, 16, 17, 40}) {
    add("a group of heads", [=](auto& o) { o.num_query_heads = group; });
  }
  for (std::int64_t head_size : {80, 192, 256}) {
    add("a long head", [=](auto& o) {
      o.dtype = DType::kBFloat16;
      o.head_size = head_size;
      o.head_size_v = head_size == 192 ? 128 : head_size;
    });
  }
  return cases;
}

std::vector<AttentionCase> all_cases(std::uint64_t seed_offset) {
  std::vector<AttentionCase> cases = attention_cases(seed_offset);
  for (const AttentionCase& attention_case : prefill_cases()) cases.push_back(attention_case);
  for (const AttentionCase& attention_case : unified_cases()) cases.push_back(attention_case);
  return cases;
}

// All cases on a GPU and in the simulator, every fourth in the checked one.
std::vector<AttentionCase> cases_on(const Device& device) {
  std::vector<AttentionCase> cases = all_cases(9000);
  if (device.kind() != DeviceKind::kCheckedSimulator) return cases;
  std::vector<AttentionCase> some;
  for (std::size_t index = 0; index < cases.size(); index += 4) some.push_back(cases[index]);
  return some;
}

void check_tables(const std::shared_ptr<Device>& device) {
  check_cases(cases_on(*device), *two_dimensional(device)).print("unified, rung 1,", *device);
  check_cases(cases_on(*device), *segmented(device)).print("unified, rung 2,", *device);
}

void check_bits_of_prefill(const std::shared_ptr<Device>& device) {
  const auto prefill = prefill_backend(1, device);
  const auto unified = two_dimensional(device);
  for (const AttentionCase& attention_case : all_cases(9100)) {
    CAPTURE(attention_case.name);
    const AttentionStep step = attention_case.step();
    check_same_bits(attend(step, *unified), attend(step, *prefill));
  }
}

void check_traps_and_neighbours(const std::shared_ptr<Device>& device) {
  for (const auto& form : kForms) {
    check_traps(*form(device));
    check_neighbours(*form(device), DType::kFloat32);
    check_extraordinary_numbers(*form(device), DType::kFloat32);
  }
}

void check_counts_of_both(const std::shared_ptr<Device>& device) {
  for (const auto& form : kForms) check_counts(*form(device));
}

}  // namespace

TEST_SUITE("unified") {
  TEST_CASE("both forms are within the bound of REFERENCE in every case (simulators)") {
    for (const auto& device : simulators()) check_tables(device);
  }
  TEST_CASE("both forms are within the bound of REFERENCE in every case (GPU)") {
    if (const auto device = gpu_or_skip()) check_tables(device);
  }

  TEST_CASE("packing the heads of a group changes no bit of rung 1 of prefill (simulator)") {
    check_bits_of_prefill(simulator_device());
  }
  TEST_CASE("packing the heads of a group changes no bit of rung 1 of prefill (GPU)") {
    if (const auto device = gpu_or_skip()) check_bits_of_prefill(device);
  }

  TEST_CASE("no trap and no neighbour and no NaN misleads either form (simulators)") {
    for (const auto& device : simulators()) check_traps_and_neighbours(device);
  }
  TEST_CASE("no trap and no neighbour and no NaN misleads either form (GPU)") {
    if (const auto device = gpu_or_skip()) check_traps_and_neighbours(device);
  }

  TEST_CASE("K8 and K9 and K12: both forms count every key once (simulator)") {
    check_counts_of_both(simulator_device());
  }
  TEST_CASE("K8 and K9 and K12: both forms count every key once (GPU)") {
    if (const auto device = gpu_or_skip()) check_counts_of_both(device);
  }

  TEST_CASE("both simulators have the same bits of both forms in every order of threads") {
    std::vector<AttentionStep> steps;
    for (const AttentionCase& attention_case : all_cases(9200)) {
      if (attention_case.seed % 9 == 0) steps.push_back(attention_case.step());
    }
    for (const auto& form : kForms) check_thread_orders(form, steps);
  }

  TEST_CASE("segments are a sixteenth of a sequence in whole tiles and cover it exactly") {
    // 16 segments of one tile of 16 keys hold 256; 257 keys need two tiles each: 9 segments of 32.
    CHECK(num_active_segments(0) == 0);
    CHECK(keys_per_segment(1) == 16);
    CHECK(num_active_segments(1) == 1);
    CHECK(keys_per_segment(256) == 16);
    CHECK(num_active_segments(256) == 16);
    CHECK(keys_per_segment(257) == 32);
    CHECK(num_active_segments(257) == 9);
    CHECK(keys_per_segment(600) == 48);
    CHECK(num_active_segments(600) == 13);
    for (std::int64_t seq_len = 1; seq_len < 2000; ++seq_len) {
      const std::int64_t capacity = num_active_segments(seq_len) * keys_per_segment(seq_len);
      CHECK(capacity >= seq_len);
      CHECK(capacity - keys_per_segment(seq_len) < seq_len);
      CHECK(num_active_segments(seq_len) <= kSegments);
    }
  }

  TEST_CASE("both forms refuse heads and groups that they cannot hold by name") {
    const auto check_refusal = [](const auto& form, const auto& change, const char* sentence) {
      RandomStepOptions options;
      change(options);
      CHECK_THROWS_WITH_AS(attend(random_step(options, 1), *form(simulator_device())), sentence,
                           Error);
    };
    check_refusal(
        two_dimensional, [](auto& o) { o.head_size = 257; },
        "unified/1_two_dimensional: head_size is 257, but it must be from 1 to 256.");
    check_refusal(
        segmented, [](auto& o) { o.head_size_v = 300; },
        "unified/2_segmented: head_size_v is 300, but it must be from 1 to 256.");
    check_refusal(
        segmented, [](auto& o) { o.num_query_heads = 129, o.num_kv_heads = 1; },
        "unified/2_segmented: num_query_heads / num_kv_heads is 129, but it must be from 1 to "
        "128.");
    check_refusal(
        two_dimensional,
        [](auto& o) {
          o.num_query_heads = 128;
          o.num_kv_heads = 1;
          o.head_size = o.head_size_v = 256;
        },
        "unified/1_two_dimensional: 344192 bytes of shared memory a thread block are needed "
        "(head_size 256, head_size_v 256, 128 query heads a KV head), but 232448 are available.");
  }

  TEST_CASE("the segmented form refuses too little workspace by name") {
    PagedAttentionParams params;
    params.num_tokens = 3;
    params.num_query_heads = params.num_kv_heads = 2;
    params.head_size = params.head_size_v = 8;
    params.num_reqs = 1;
    CHECK(unified_workspace_floats(params) == 3 * 2 * 16 * (8 + 2));
    const auto launch =
        kernels_of(*simulator_device()).unified[1].launchers.at(DType::kFloat32, DType::kFloat32);
    CHECK_THROWS_WITH_AS(launch(params),
                         "unified/2_segmented: workspace_floats is 0, but 960 are needed (6 rows, "
                         "16 segments, head_size_v 8).",
                         Error);
  }
}
