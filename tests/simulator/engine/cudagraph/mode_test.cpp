#include <doctest/doctest.h>

#include "reference/contract/error.h"
#include "simulator/engine/cudagraph/capture_sizes.h"
#include "simulator/engine/cudagraph/mode_resolution.h"

using namespace pagelab;

namespace {

using Sizes = std::vector<std::int64_t>;

CudagraphModeRequest full_for_three_tokens() {
  CudagraphModeRequest request;
  request.mode = CUDAGraphMode::kFull;
  request.min_support = {AttentionCGSupport::kUniformSingleTokenDecode, "FlashInferBackend"};
  request.uniform_decode_query_len = 3;
  request.capture_sizes = {{1, 2, 4, 8}, 8};
  return request;
}

}  // namespace

TEST_SUITE("CUDA-graph modes") {
  TEST_CASE("a mode is a pair of what decodes and what mixed batches run as") {
    const auto pair = [](CUDAGraphMode mode) {
      return to_string(decode_mode(mode)) + " " + to_string(mixed_mode(mode));
    };
    CHECK(pair(CUDAGraphMode::kNone) == "NONE NONE");
    CHECK(pair(CUDAGraphMode::kPiecewise) == "PIECEWISE PIECEWISE");
    CHECK(pair(CUDAGraphMode::kFull) == "FULL FULL");
    CHECK(pair(CUDAGraphMode::kFullDecodeOnly) == "FULL NONE");
    CHECK(pair(CUDAGraphMode::kFullAndPiecewise) == "FULL PIECEWISE");
    // Those whose two halves differ have graphs of their own for decodes.
    CHECK_FALSE(separate_routine(CUDAGraphMode::kFull));
    CHECK(separate_routine(CUDAGraphMode::kFullDecodeOnly));
  }

  TEST_CASE("the optimization level chooses the mode that the user left open") {
    CHECK(default_cudagraph_mode(0) == CUDAGraphMode::kNone);
    CHECK(default_cudagraph_mode(1) == CUDAGraphMode::kPiecewise);
    CHECK(default_cudagraph_mode(2) == CUDAGraphMode::kFullAndPiecewise);
    CHECK(default_cudagraph_mode(3) == CUDAGraphMode::kFullAndPiecewise);
    CHECK_THROWS_WITH_AS(default_cudagraph_mode(4),
                         "the optimization level is 4; it may be 0, 1, 2 or 3.", Error);
  }

  TEST_CASE("a mistyped mode is refused with the nearest one") {
    CHECK_THROWS_WITH_AS(
        cudagraph_mode_of("FUL"),
        "cudagraph mode is FUL (did you mean FULL?); it may be one of: NONE, PIECEWISE, FULL, "
        "FULL_DECODE_ONLY, FULL_AND_PIECEWISE.",
        Error);
  }

  TEST_CASE("U7: both modes and each reason and the cost and what it would take are told") {
    const ResolvedCudagraphMode resolved = resolve_cudagraph_mode(full_for_three_tokens());
    CHECK(resolved.requested == CUDAGraphMode::kFull);
    CHECK(resolved.mode == CUDAGraphMode::kPiecewise);
    REQUIRE(resolved.downgrades.size() == 2);
    CHECK(resolved.downgrades[0].to == CUDAGraphMode::kFullAndPiecewise);
    CHECK(
        to_string(resolved) ==
        "CUDA graphs: FULL was asked for, PIECEWISE runs.\n"
        "  reason: CUDAGraphMode.FULL is not supported with FlashInferBackend backend (support: "
        "AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE); setting "
        "cudagraph_mode=FULL_AND_PIECEWISE\n"
        "  it would take: a backend whose support is ALWAYS\n"
        "  reason: CUDAGraphMode.FULL_AND_PIECEWISE is not supported with spec-decode for "
        "attention backend FlashInferBackend (support: "
        "AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE); setting cudagraph_mode=PIECEWISE\n"
        "  it would take: a backend whose support is UNIFORM_BATCH or ALWAYS, or no draft tokens\n"
        "  cost: the CPU launches each layer's attention in every step, between two replays\n");
  }

  TEST_CASE("U7: a strict request refuses to run as less") {
    CudagraphModeRequest request = full_for_three_tokens();
    request.strict = true;
    CHECK_THROWS_WITH_AS(
        resolve_cudagraph_mode(request),
        "cudagraph mode FULL was asked for strictly, but only PIECEWISE can run: "
        "CUDAGraphMode.FULL is not supported with FlashInferBackend backend (support: "
        "AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE); setting "
        "cudagraph_mode=FULL_AND_PIECEWISE",
        Error);
    request.min_support = {};
    CHECK(to_string(resolve_cudagraph_mode(request)) ==
          "CUDA graphs: FULL was asked for, and runs.\n");
  }

  TEST_CASE("what vLLM refuses is an answer with vLLM's text") {
    CudagraphModeRequest request = full_for_three_tokens();
    request.min_support = {AttentionCGSupport::kNever, "CPUAttentionBackend"};
    CHECK(
        to_string(resolve_cudagraph_mode(request)) ==
        "CUDA graphs: FULL was asked for, and cannot run: CUDAGraphMode.FULL is not supported with "
        "CPUAttentionBackend backend (support: AttentionCGSupport.NEVER); please try "
        "cudagraph_mode=PIECEWISE, and make sure compilation mode is VLLM_COMPILE\n");
  }

  TEST_CASE("sizes become whole decodes and one decode if no size rounds up within the maximum") {
    // 5 tokens would be two decodes of 4, past the maximum; one decode fits.
    CHECK(rounded_to_decodes({{5}, 5}, 4).sizes == Sizes{4});
    CHECK(rounded_to_decodes({{5}, 5}, 4).max == 4);
    CHECK(rounded_to_decodes({{1, 2, 5, 8}, 8}, 4).sizes == Sizes{4, 8});
    CHECK(rounded_to_decodes({{1, 2}, 2}, 4).sizes.empty());
  }

  TEST_CASE("as many state blocks as requests are enough") {
    CudagraphModeRequest request;
    request.has_mamba_layers = true;
    request.max_num_seqs = 10;
    request.num_mamba_blocks = 10;
    CHECK_FALSE(resolve_cudagraph_mode(request).error);
    request.num_mamba_blocks = 9;
    CHECK(
        resolve_cudagraph_mode(request).error ==
        "max_num_seqs (10) exceeds available Mamba cache blocks (9). Each decode sequence requires "
        "one Mamba cache block, so CUDA graph capture cannot proceed. Please lower max_num_seqs to "
        "at most 9 or increase gpu_memory_utilization.");
  }

  TEST_CASE("capture sizes that contradict each other are refused") {
    CudagraphModeRequest request = full_for_three_tokens();
    request.capture_sizes = {{1, 4, 4}, 4};
    CHECK_THROWS_WITH_AS(resolve_cudagraph_mode(request),
                         "the capture sizes go from 4 to 4; they must ascend, from at least 1.",
                         Error);
    request.capture_sizes = {{1, 4}, 8};
    CHECK_THROWS_WITH_AS(resolve_cudagraph_mode(request),
                         "the largest capture size is 4, but the maximum is 8.", Error);
    CHECK_THROWS_WITH_AS(
        capture_sizes({.max_num_batched_tokens = 100,
                       .cudagraph_capture_sizes = Sizes{64, 128},
                       .max_cudagraph_capture_size = 128}),
        "max_cudagraph_capture_size is 128, but the largest of "
        "cudagraph_capture_sizes that a step of 100 tokens can hold is 64; set one of "
        "the two, or make them agree.",
        Error);
    CHECK_THROWS_WITH_AS(capture_sizes({.max_num_seqs = 0}),
                         "max_num_seqs is 0; it must be at least 1.", Error);
    CHECK_THROWS_WITH_AS(capture_sizes({.cudagraph_capture_sizes = Sizes{}}),
                         "cudagraph_capture_sizes is empty; leave it out to get the default sizes.",
                         Error);
  }
}
