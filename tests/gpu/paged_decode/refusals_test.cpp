// What rungs of decode refuse, before a launch and in one sentence; and that every option that they take
// changes the result.

#include <doctest/doctest.h>

#include <functional>

#include "gpu/backends/kernels_of.h"
#include "gpu/backends/naive.h"
#include "reference/contract/compare.h"
#include "tests/gpu/devices.h"
#include "tests/gpu/paged_decode/decode_checks.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// Parameters of one row of one head, whose arrays nobody reads before the launch is refused.
PagedAttentionParams plain_params() {
  PagedAttentionParams params;
  params.num_tokens = params.num_query_heads = params.num_kv_heads = params.num_reqs = 1;
  params.head_size = params.head_size_v = 128;
  params.block_size = 16;
  params.max_blocks_per_req = 1024;
  params.max_seq_len = 16384;
  params.key_strides = params.value_strides = {.block = 2048, .token = 128, .head = 128};
  return params;
}

std::string refusal_of(int rung, DType cache_dtype, const PagedAttentionParams& params) {
  const KernelSet kernels = kernels_of(*simulator_device());
  const auto& launchers = kernels.paged_decode[static_cast<std::size_t>(rung - 1)].launchers;
  try {
    const bool is_16_bit = rung == kTensorCoreRung;
    launchers.at(is_16_bit ? DType::kBFloat16 : DType::kFloat32,
                 is_16_bit ? DType::kBFloat16 : cache_dtype)(params);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of_pipelined(const std::function<void(PagedAttentionParams&)>& change,
                                 DType cache_dtype = DType::kBFloat16) {
  PagedAttentionParams params = plain_params();
  change(params);
  return refusal_of(kPipelinedRung, cache_dtype, params);
}

}  // namespace

TEST_SUITE("paged decode refuses") {
  TEST_CASE("K10: scores that exceed shared memory are refused with bytes needed and available") {
    PagedAttentionParams params = plain_params();
    params.max_shared_bytes = 48 * 1024;
    CHECK(
        refusal_of(3, DType::kFloat32, params) ==
        "paged_decode/3_cta needs 66064 bytes of shared memory a thread block (max_seq_len 16384, "
        "head_size 128), but 49152 are available. Rung 4 takes any length: it splits the context.");
    // (16384 scores + 128 query elements + 4 parts of a sum) · 4 bytes.
    CHECK((16384 + 128 + 4) * 4 == 66064);
  }

  TEST_CASE("K10: rungs 4 to 7 attend over the 16384 keys that rung 3 refuses") {
    RandomStepOptions options;
    options.num_query_heads = options.num_kv_heads = 1;
    options.head_size = options.head_size_v = 16;
    options.block_size = 64;
    options.requests = {{1, 16384}};
    for (int rung = 4; rung <= kLastRung; ++rung) {
      CAPTURE(rung);
      const AttentionStep step = random_step(*options_for(rung, options), 10);
      check_decode_bound(rung, step, decode_by(rung, step, simulator_device()));
    }
    options.requests = {{1, 60000}};
    const AttentionStep longer = random_step(options, 11);
    CHECK_THROWS_AS(decode_by(3, longer, simulator_device()), Error);
  }

  TEST_CASE("K7: a length beyond the table is refused by both numbers") {
    PagedAttentionParams params = plain_params();
    params.max_blocks_per_req = 2;
    params.max_seq_len = 33;
    for (int rung = kFirstRung; rung <= kLastRung; ++rung) {
      CAPTURE(rung);
      CHECK(refusal_of(rung, DType::kFloat32, params)
                .find("max_seq_len is 33, but a row of the block table has room for 32 tokens (2 "
                      "blocks "
                      "of 16).") != std::string::npos);
      params.max_seq_len = -1;
      CHECK(refusal_of(rung, DType::kFloat32, params).find("max_seq_len is -1") !=
            std::string::npos);
      params.max_seq_len = 33;
    }
  }

  TEST_CASE("too little workspace is refused with what is needed") {
    const PagedAttentionParams params = plain_params();
    for (int rung = 4; rung <= kLastRung; ++rung) {
      CAPTURE(rung);
      // 32 partitions of 128 + 2 floats.
      CHECK(
          refusal_of(rung, DType::kFloat32, params)
              .find(
                  "workspace_floats is 0, but 4160 are needed (1 rows, 32 partitions of 512 keys, "
                  "head_size_v 128).") != std::string::npos);
    }
  }

  TEST_CASE("rung 6 names what has no 16 bytes") {
    CHECK(refusal_of_pipelined([](auto& p) { p.head_size = 100; }) ==
          "paged_decode/6_pipelined: head_size is 100, but it must be a multiple of 8, which are "
          "16 bytes of bfloat16. Rung 5 takes any.");
    CHECK(refusal_of_pipelined([](auto& p) { p.head_size_v = 264; }) ==
          "paged_decode/6_pipelined: head_size_v is 264, but it must be from 8 to 256. Rung 5 "
          "takes any.");
    CHECK(refusal_of_pipelined([](auto& p) { p.head_size = 24; }, DType::kFp8E4M3)
              .find("multiple of 16, which are 16 bytes of fp8_e4m3") != std::string::npos);
    CHECK(refusal_of_pipelined([](auto& p) {
            p.value_strides.token = 130;
          }).find("value_strides.token is 130") != std::string::npos);
    CHECK(refusal_of_pipelined([](auto&) {}, DType::kFloat64) ==
          "paged_decode/6_pipelined: caches of float64 are not supported. Rung 5 takes them.");
    const char* const address = "an address";
    const auto odd = reinterpret_cast<std::uintptr_t>(address) / 16 * 16 + 2;
    CHECK(refusal_of_pipelined([&](auto& p) { p.key_cache = reinterpret_cast<void*>(odd); }) ==
          "paged_decode/6_pipelined: key_cache does not begin at a multiple of 16 bytes. Rung 5 "
          "takes any address.");
  }

  TEST_CASE("rung 7 names what tensor cores do not multiply") {
    const KernelSet kernels = kernels_of(*simulator_device());
    const auto& launchers = kernels.paged_decode[kTensorCoreRung - 1].launchers;
    CHECK_THROWS_WITH_AS(
        launchers.at(DType::kFloat32, DType::kFloat32)(plain_params()),
        "paged_decode/7_tensor_cores: the query is float32 and the cache float32, but tensor cores "
        "multiply a float16 or bfloat16 query with a cache of the same type or of fp8. Earlier "
        "rungs "
        "take every type.",
        Error);
    PagedAttentionParams params = plain_params();
    params.head_size = 72;
    CHECK(refusal_of(kTensorCoreRung, DType::kBFloat16, params) ==
          "paged_decode/7_tensor_cores: head_size is 72, but it must be a multiple of 16. Earlier "
          "rungs take every number.");
  }

  TEST_CASE("there is neither a rung before the first nor one after the last") {
    for (const int rung : {0, 8}) {
      CHECK_THROWS_WITH_AS(make_naive_backend(simulator_device(), rung),
                           doctest::Contains("paged_decode has the rungs 1 to 7."), Error);
    }
  }

  TEST_CASE("K1: every option that a rung takes changes its result") {
    using Change = std::function<void(RandomStepOptions&)>;
    const std::vector<Change> changes = {
        [](auto& o) { o.causal = false; },      [](auto& o) { o.window_left = 2; },
        [](auto& o) { o.logit_softcap = 0.3; }, [](auto& o) { o.alibi = true; },
        [](auto& o) { o.sinks = true; },        [](auto& o) { o.scale = 0.7; },
        [](auto& o) { o.mm_prefix = true; },
    };
    RandomStepOptions plain;
    plain.head_size = plain.head_size_v = 16;
    plain.requests = {{9, 17}};
    for (int rung = kFirstRung; rung <= kLastRung; ++rung) {
      CAPTURE(rung);
      plain = *options_for(rung, plain);
      const AttentionResult without = decode_by(rung, random_step(plain, 5), simulator_device());
      for (std::size_t index = 0; index < changes.size(); ++index) {
        CAPTURE(index);
        RandomStepOptions options = plain;
        changes[index](options);
        AttentionStep step = random_step(plain, 5);
        step.variant = random_step(options, 5).variant;
        const AttentionResult with = decode_by(rung, step, simulator_device());
        CHECK_FALSE(identical(with.output, without.output));
      }
    }
  }
}
