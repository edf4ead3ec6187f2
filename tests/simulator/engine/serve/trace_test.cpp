#include <doctest/doctest.h>

#include <fstream>

#include "reference/contract/error.h"
#include "simulator/engine/trace/request_trace.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;

namespace {

RequestTrace trace_of(const std::string& text) {
  const test::ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "trace";
  std::ofstream(path, std::ios::binary) << text;
  return read_trace(path);
}

// What is refused, without the folder's name.
std::string refusal_of(const std::string& text) {
  try {
    trace_of(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("request trace") {
  TEST_CASE("the ids of a Mooncake trace become dense block numbers") {
    const RequestTrace trace = trace_of(
        R"({"timestamp": 500, "input_length": 700, "output_length": 3, "hash_ids": [900, 7]})"
        "\n\n"
        R"({"timestamp": 530, "input_length": 512, "output_length": 1, "hash_ids": [900]})"
        "\n"
        R"({"timestamp": 530, "input_length": 513, "output_length": 9, "hash_ids": [900, 8]})");
    REQUIRE(trace.requests.size() == 3);
    CHECK(trace.num_blocks == 3);
    CHECK(trace.requests[0].blocks == std::vector<std::int32_t>{0, 1});
    CHECK(trace.requests[1].blocks == std::vector<std::int32_t>{0});
    CHECK(trace.requests[2].blocks == std::vector<std::int32_t>{0, 2});
    CHECK(trace.requests[0].arrival_us == 0);
    CHECK(trace.requests[1].arrival_us == 30000);
    CHECK(trace.requests[1].line == 3);
    CHECK(trace.requests[2].num_output_tokens == 9);
  }

  TEST_CASE("the times of an Azure trace count from its first request and cross midnight") {
    const RequestTrace trace = trace_of(
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        "2023-12-31 23:59:59.7500000,513,8\r\n"
        "2024-01-01 00:00:01,20,1");
    REQUIRE(trace.requests.size() == 2);
    CHECK(trace.requests[1].arrival_us == doctest::Approx(1.25e6).epsilon(1e-6));
    CHECK(trace.requests[0].num_prompt_tokens == 513);
    CHECK(trace.requests[0].num_output_tokens == 8);
    // Its prompts share nothing: 2 blocks and 1 block.
    CHECK(trace.requests[0].blocks == std::vector<std::int32_t>{0, 1});
    CHECK(trace.requests[1].blocks == std::vector<std::int32_t>{2});
    CHECK(trace.requests[1].line == 3);
  }

  TEST_CASE("equal blocks have equal tokens and different blocks have none in common") {
    TraceRequest request;
    request.num_prompt_tokens = 514;
    request.blocks = {5, 2};
    const std::vector<TokenId> tokens = prompt_tokens(request);
    REQUIRE(tokens.size() == 514);
    CHECK(tokens[0] == 5 * 512);
    CHECK(tokens[511] == 5 * 512 + 511);
    CHECK(tokens[512] == 2 * 512);
    CHECK(tokens[513] == 2 * 512 + 1);
  }

  TEST_CASE("a copy of a trace follows after a mean gap and shares nothing with it") {
    const RequestTrace trace =
        trace_of(R"({"timestamp": 0, "input_length": 5, "output_length": 1, "hash_ids": [3]})"
                 "\n"
                 R"({"timestamp": 40, "input_length": 5, "output_length": 1, "hash_ids": [4]})");
    const RequestTrace all = repeated(trace, 3);
    REQUIRE(all.requests.size() == 6);
    CHECK(all.num_blocks == 6);
    CHECK(all.requests[2].arrival_us == 80000);
    CHECK(all.requests[5].arrival_us == 200000);
    CHECK(all.requests[2].blocks[0] == 2);
    CHECK(all.requests[5].blocks[0] == 5);
    CHECK_THROWS_AS(repeated(trace, 0), Error);
  }

  TEST_CASE("a broken line is refused with its number and with what is wrong") {
    const std::string good =
        R"({"timestamp": 9, "input_length": 5, "output_length": 1, "hash_ids": [3]})"
        "\n";
    CHECK(holds(refusal_of(good + "{\"timestamp\": 1"), "line 2 of "));
    CHECK(holds(refusal_of(good + "{\"timestamp\": 1"), "it is no JSON object"));
    CHECK(holds(refusal_of(good + R"({"timestamp": 9})"), "input_length is missing"));
    CHECK(
        holds(refusal_of(good + R"({"timestamp": 9.5})"), "timestamp is 9.5; it must be a whole"));
    CHECK(
        holds(refusal_of(good + R"({"timestamp": -1})"), "timestamp is -1; it must be at least 0"));
    CHECK(holds(refusal_of(R"({"timestamp": 9, "input_length": 0, "output_length": 1})"),
                "input_length is 0; it must be at least 1"));
    CHECK(holds(
        refusal_of(R"({"timestamp": 9, "input_length": 513, "output_length": 1, "hash_ids": [3]})"),
        "hash_ids has 1 entries; an input_length of 513 has 2 blocks of 512"));
    CHECK(holds(
        refusal_of(R"({"timestamp": 9, "input_length": 5, "output_length": 1, "hash_ids": ["a"]})"),
        "hash_ids holds \"a\""));
    CHECK(holds(
        refusal_of(good +
                   R"({"timestamp": 8, "input_length": 5, "output_length": 1, "hash_ids": [3]})"),
        "comes before the one above it"));
    CHECK(holds(refusal_of("when,how\n1,2"), "line 1 of "));
    CHECK(holds(refusal_of(""), "holds no request"));
  }

  TEST_CASE("a broken line of an Azure trace is refused") {
    const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
    for (const char* line : {"2023-11-16 18:17:03,5", "2023-11-16 18:17:03,5,", "18:17:03,5,6",
                             "2023-11-16 18:17:03,5,6,7", "2023-02-30 18:17:03,5,6",
                             "2023-11-16 24:17:03,5,6", "2023-11-16 18:17:03.x,5,6"}) {
      CAPTURE(line);
      CHECK(holds(refusal_of(header + line), "must be a time, ContextTokens and GeneratedTokens"));
    }
    CHECK(holds(refusal_of(header + "2023-11-16 18:17:03,5,0"), "GeneratedTokens is 0"));
  }

  TEST_CASE("a trace that cannot be read is refused") {
    const test::ScratchFolder folder;
    CHECK_THROWS_WITH_AS(read_trace(folder.path() / "none"), doctest::Contains("cannot be read"),
                         Error);
    CHECK_THROWS_WITH_AS(read_trace(folder.path()), doctest::Contains("cannot be read"), Error);
  }
}
