#include <doctest/doctest.h>

#include "reference/contract/error.h"
#include "simulator/engine/cudagraph/capture_sizes.h"
#include "simulator/engine/cudagraph/cudagraph_dispatcher.h"
#include "simulator/engine/cudagraph/cudagraph_manager.h"

using namespace pagelab;

namespace {

CudagraphDispatcher dispatcher_of(CUDAGraphMode mode, std::int64_t query_len = 1) {
  return CudagraphDispatcher({.mode = mode,
                              .capture_sizes = {4, 8, 16},
                              .uniform_decode_query_len = query_len,
                              .max_num_seqs = 8});
}

std::string told(const CudagraphDispatch& dispatch) {
  return to_string(dispatch.mode) + ": " + to_string(dispatch.descriptor);
}

}  // namespace

TEST_SUITE("CUDA-graph dispatch") {
  TEST_CASE("decodes are padded to a full graph and mixed batches to a piecewise one") {
    const CudagraphDispatcher dispatcher = dispatcher_of(CUDAGraphMode::kFullAndPiecewise);
    CHECK(told(dispatcher.dispatch({.num_tokens = 3, .uniform_decode = true})) ==
          "FULL: 4 tokens, 4 requests, uniform");
    CHECK(told(dispatcher.dispatch({.num_tokens = 3})) == "PIECEWISE: 4 tokens");
    // 16 tokens of one each would be 16 requests, of which 8 may run.
    CHECK(told(dispatcher.dispatch({.num_tokens = 9, .uniform_decode = true})) ==
          "PIECEWISE: 16 tokens");
    CHECK(told(dispatcher.dispatch({.num_tokens = 17, .uniform_decode = true})) ==
          "NONE: 17 tokens");
  }

  TEST_CASE("the examples of the page on CUDA-graph modes are what happens") {
    // docs/cudagraph_modes.md: 64 requests of one token each.
    const CaptureSizes sizes = capture_sizes({.max_num_seqs = 64});
    CHECK(sizes.sizes.size() == 19);
    CHECK(sizes.max == 128);
    const CudagraphDispatcher dispatcher({.capture_sizes = sizes.sizes, .max_num_seqs = 64});
    CHECK(told(dispatcher.dispatch({.num_tokens = 3, .uniform_decode = true})) ==
          "FULL: 4 tokens, 4 requests, uniform");
    CHECK(told(dispatcher.dispatch({.num_tokens = 3 + 100})) == "PIECEWISE: 104 tokens");
    const StepShape decodes = {.num_tokens = 64, .uniform_decode = true};
    CHECK(told(dispatcher.dispatch(decodes)) == "FULL: 64 tokens, 64 requests, uniform");
    CHECK(told(dispatcher.dispatch(decodes, {.full = false})) == "PIECEWISE: 64 tokens");
    CHECK(told(dispatcher.dispatch({.num_tokens = 3 + 126})) == "NONE: 129 tokens");
  }

  TEST_CASE("several tokens a decode make whole decodes of the sizes") {
    const CudagraphDispatcher dispatcher = dispatcher_of(CUDAGraphMode::kFullDecodeOnly, 4);
    CHECK(told(dispatcher.dispatch({.num_tokens = 12, .uniform_decode = true})) ==
          "FULL: 16 tokens, 4 requests, uniform");
    CHECK(told(dispatcher.dispatch({.num_tokens = 12})) == "NONE: 12 tokens");
    CHECK(is_uniform_decode(4, 12, 3, 4));
    CHECK_FALSE(is_uniform_decode(4, 11, 3, 4));
    CHECK_FALSE(is_uniform_decode(3, 12, 4, 4));
  }

  TEST_CASE("a size of less than one decode has no graph of decodes") {
    const CudagraphDispatcher dispatcher(
        {.capture_sizes = {2, 4, 8, 12}, .uniform_decode_query_len = 4, .max_num_seqs = 2});
    // 2 tokens are half a decode, and 12 are three decodes where two may run.
    std::vector<std::int64_t> sizes;
    for (const BatchDescriptor& key : dispatcher.keys(CUDAGraphMode::kFull)) {
      sizes.push_back(key.num_tokens);
    }
    CHECK(sizes == std::vector<std::int64_t>{4, 8});
    CHECK(dispatcher.keys(CUDAGraphMode::kPiecewise).size() == 4);
    CHECK(dispatcher.keys(CUDAGraphMode::kNone).empty());
  }

  TEST_CASE("a cascade step never runs as a full graph") {
    const AllowedModes not_full = {.full = false};
    const StepShape decodes = {.num_tokens = 8, .uniform_decode = true};
    CHECK(told(dispatcher_of(CUDAGraphMode::kFullAndPiecewise).dispatch(decodes, not_full)) ==
          "PIECEWISE: 8 tokens");
    CHECK(told(dispatcher_of(CUDAGraphMode::kFullDecodeOnly).dispatch(decodes, not_full)) ==
          "NONE: 8 tokens");
    CHECK(told(dispatcher_of(CUDAGraphMode::kFull).dispatch(decodes, not_full)) ==
          "NONE: 8 tokens");
  }

  TEST_CASE("U3: a graph for queries of up to 4 tokens is not replayed with longer ones") {
    const CudaGraphManager manager({.capture_sizes = {8, 16},
                                    .decode_query_len = 4,
                                    .varlen_decode = true,
                                    .max_num_seqs = 4});
    const auto mode_for = [&manager](std::optional<std::int64_t> max_query_len) {
      return to_string(
          manager.dispatch({.num_reqs = 3, .num_tokens = 7, .max_query_len = max_query_len}));
    };
    CHECK(mode_for(4) == "FULL: 8 tokens, 4 requests of up to 4");
    CHECK(mode_for(5) == "PIECEWISE: 8 tokens");
    // A length that is not known may be any.
    CHECK(mode_for({}) == "PIECEWISE: 8 tokens");
  }

  TEST_CASE("U3: a graph for fewer requests or other adapters is not replayed") {
    const CudaGraphManager manager({.mode = CUDAGraphMode::kFull,
                                    .capture_sizes = {8},
                                    .max_num_seqs = 4,
                                    .lora_cases = {0, 2}});
    CHECK(to_string(manager.dispatch({.num_reqs = 4, .num_tokens = 8})) ==
          "FULL: 8 tokens, 4 requests");
    CHECK(to_string(manager.dispatch({.num_reqs = 5, .num_tokens = 8})) ==
          "NONE: 8 tokens, 5 requests");
    CHECK(to_string(manager.dispatch({.num_reqs = 4, .num_tokens = 8, .num_active_loras = 1})) ==
          "FULL: 8 tokens, 4 requests, 2 adapters");
  }

  TEST_CASE("without a case for no adapter only batches with adapters are replayed") {
    const CudagraphDispatcher dispatcher({.mode = CUDAGraphMode::kPiecewise,
                                          .capture_sizes = {8},
                                          .lora = LoraCaptureSettings{.max_loras = 3}});
    CHECK(told(dispatcher.dispatch({.num_tokens = 8, .num_active_loras = 1})) ==
          "PIECEWISE: 8 tokens, 4 adapters");
    CHECK(told(dispatcher.dispatch({.num_tokens = 8})) == "NONE: 8 tokens");
  }

  TEST_CASE("numbers of adapters are captured as powers of two and as any number") {
    CHECK(lora_cases(std::nullopt) == std::vector<std::int64_t>{0});
    const auto all_cases = [](std::int64_t max_loras) {
      return lora_cases(LoraCaptureSettings{max_loras, true, true});
    };
    CHECK(all_cases(5) == std::vector<std::int64_t>{0, 1, 2, 4, 6});
    CHECK(all_cases(7) == std::vector<std::int64_t>{0, 1, 2, 4, 8});
    CHECK(lora_cases(LoraCaptureSettings{5, true, false}) == std::vector<std::int64_t>{0, 6});
    CHECK_THROWS_WITH_AS(all_cases(0), "max_loras is 0; it must be at least 1.", Error);
  }

  TEST_CASE("steps and settings out of range are refused") {
    const CudagraphDispatcher dispatcher = dispatcher_of(CUDAGraphMode::kFullAndPiecewise, 4);
    CHECK_THROWS_WITH_AS(dispatcher.dispatch({.num_tokens = 0}),
                         "num_tokens is 0; it must be at least 1.", Error);
    CHECK_THROWS_WITH_AS(dispatcher.dispatch({.num_tokens = 6, .uniform_decode = true}),
                         "num_tokens is 6, which are no whole decodes of 4 tokens, but the step is "
                         "said to be uniform.",
                         Error);
    CHECK_THROWS_WITH_AS(CudagraphDispatcher({.capture_sizes = {8, 4}}),
                         "the capture sizes go from 8 to 4; they must ascend, from at least 1.",
                         Error);
    CHECK_THROWS_WITH_AS(CudaGraphManager({.lora_cases = {}}),
                         "lora_cases is empty; without adapters it holds one case, 0.", Error);
    const CudaGraphManager manager({.capture_sizes = {8}});
    CHECK_THROWS_WITH_AS(manager.dispatch({.num_reqs = 3, .num_tokens = 2}),
                         "num_reqs is 3; 2 tokens belong to 1 to 2 requests.", Error);
  }
}
