// The arrays of a step folder: types, shapes, files that are missing or contradict each other.
#include <doctest/doctest.h>

#include "tests/reference/contract/folder_change.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// What the plain step's folder says after one array was replaced.
std::string refusal_of(const std::string& name, const Tensor& array) {
  const PlainFolder folder;
  folder.write(name, array);
  return folder.refusal();
}

std::string refusal_without(const std::string& name) {
  const PlainFolder folder;
  folder.remove(name);
  return folder.refusal();
}

constexpr const char* kFp8Json = R"({"dtype": "float32", "kv_cache_dtype": "fp8_e4m3"})";

// The plain step's folder over an fp8 cache of zeros.
void make_fp8(const PlainFolder& folder) {
  folder.write("step.json", kFp8Json);
  folder.write("key_cache.npy", Tensor(DType::kUInt8, {8, 4, 2, 3}));
  folder.write("value_cache.npy", Tensor(DType::kUInt8, {8, 4, 2, 5}));
}

}  // namespace

TEST_SUITE("step files") {
  TEST_CASE("each array that a step needs is missed by name") {
    for (const char* name :
         {"query.npy", "key.npy", "value.npy", "key_cache.npy", "value_cache.npy",
          "block_table.npy", "slot_mapping.npy", "query_start_loc.npy", "seq_lens.npy"}) {
      CHECK(refusal_without(name) == std::string(name) + ": there is no such file.");
    }
  }

  TEST_CASE("an array of another type than step.json or the format says is refused") {
    CHECK(refusal_of("query.npy", Tensor(DType::kFloat64, {8, 4, 3})) ==
          "query.npy: the array is float64, but it must be float32.");
    CHECK(refusal_of("key_cache.npy", Tensor(DType::kBFloat16, {8, 4, 2, 3})) ==
          "key_cache.npy: the array is uint16, but it must be float32.");
    CHECK(refusal_of("block_table.npy", Tensor(DType::kInt64, {3, 3})) ==
          "block_table.npy: the array is int64, but it must be int32.");
    CHECK(refusal_of("slot_mapping.npy", Tensor(DType::kInt32, {8})) ==
          "slot_mapping.npy: the array is int32, but it must be int64.");
    CHECK(refusal_of("seq_lens.npy", Tensor(DType::kFloat32, {3})) ==
          "seq_lens.npy: the array is float32, but it must be int32.");
  }

  TEST_CASE("an array of another shape is refused") {
    CHECK(refusal_of("value.npy", Tensor(DType::kFloat32, {8, 10})) ==
          "value.npy: the array has shape [8, 10], but it must have 3 axes.");
    CHECK(refusal_of("seq_lens.npy", Tensor(DType::kInt32, {3, 1})) ==
          "seq_lens.npy: the array has shape [3, 1], but it must have 1 axes.");
    CHECK(refusal_of("value_cache.npy", Tensor(DType::kFloat32, {8, 3, 2, 5})) ==
          "value_cache.npy: the array has shape [8, 3, 2, 5], but key_cache has [8, 4, 2, 3], and "
          "the first three axes must agree.");
    CHECK(refusal_of("mm_prefix_ranges.npy", Tensor(DType::kInt32, {3, 2})) ==
          "mm_prefix_ranges.npy: the array has shape [3, 2], but each row must be request, first, "
          "last.");
    const PlainFolder folder;
    folder.write("key_cache.npy", Tensor(DType::kFloat32, {8, 0, 2, 3}));
    folder.write("value_cache.npy", Tensor(DType::kFloat32, {8, 0, 2, 5}));
    CHECK(folder.refusal() ==
          "key_cache.npy: the array has shape [8, 0, 2, 3], but a block must hold a token.");
  }

  TEST_CASE("slopes and sinks are lists of floats") {
    CHECK(refusal_of("alibi_slopes.npy", Tensor(DType::kFloat64, {4})) == "");
    CHECK(refusal_of("sinks.npy", Tensor(DType::kFloat16, {4})) == "");
    CHECK(refusal_of("sinks.npy", Tensor(DType::kInt32, {4})) ==
          "sinks.npy: the array is int32, but it must be float32, float64 or float16.");
    CHECK(refusal_of("sinks.npy", Tensor(DType::kFloat32, {4, 1})) ==
          "sinks.npy: the array has shape [4, 1], but it must be a list of at least one number.");
    CHECK(refusal_of("sinks.npy", Tensor(DType::kFloat32, {0})) ==
          "sinks.npy: the array has shape [0], but it must be a list of at least one number.");
    CHECK(refusal_of("sinks.npy", Tensor(DType::kFloat32, {3})) ==
          "sinks has 3 entries, but there are 4 query heads.");
  }

  TEST_CASE("an fp8 step takes its scales from files or from numbers but not from both") {
    const PlainFolder folder;
    make_fp8(folder);
    CHECK(folder.read().step.cache.k_scale == std::vector<float>{1.0f});
    folder.write("k_scale.npy", Tensor::from_values<float>({2}, {0.5f, 0.25f}));
    folder.write("v_scale.npy", Tensor::from_values<double>({}, {3.0}));
    CHECK(folder.read().step.cache.k_scale == std::vector<float>{0.5f, 0.25f});
    CHECK(folder.read().step.cache.v_scale == std::vector<float>{3.0f});
    folder.write("step.json", R"({"dtype": "float32", "kv_cache_dtype": "fp8", "v_scale": 3})");
    CHECK(folder.refusal() ==
          "v_scale.npy: the file is there, but step.json has the same scale as a number.");
    folder.remove("v_scale.npy");
    CHECK(folder.read().step.cache.v_scale == std::vector<float>{3.0f});
  }

  TEST_CASE("K20: a missing scale is 1 and never the other one and the step says so") {
    const PlainFolder folder;
    make_fp8(folder);
    CHECK(folder.read().notes.empty());
    folder.write("step.json", R"({"dtype": "float32", "kv_cache_dtype": "fp8", "k_scale": 2})");
    const StepFolder without_v_scale = folder.read();
    CHECK(without_v_scale.step.cache.k_scale == std::vector<float>{2.0f});
    CHECK(without_v_scale.step.cache.v_scale == std::vector<float>{1.0f});
    CHECK(without_v_scale.notes ==
          std::vector<std::string>{"k_scale is given, but v_scale is not: it is 1."});
    folder.write("step.json", R"({"dtype": "float32", "kv_cache_dtype": "fp8"})");
    folder.write("v_scale.npy", Tensor::from_values<float>({2}, {0.5f, 0.25f}));
    const StepFolder without_k_scale = folder.read();
    CHECK(without_k_scale.step.cache.k_scale == std::vector<float>{1.0f});
    CHECK(without_k_scale.notes ==
          std::vector<std::string>{"v_scale is given, but k_scale is not: it is 1."});
    folder.write("k_scale.npy", Tensor::from_values<float>({1}, {3.0f}));
    CHECK(folder.read().notes.empty());
  }

  TEST_CASE("an encoder_only step needs neither caches nor a block table") {
    const PlainFolder folder;
    folder.write("step.json", R"({"dtype": "float32", "attn_type": "encoder_only"})");
    folder.write("seq_lens.npy", Tensor::from_values<std::int32_t>({3}, {2, 0, 5}));
    folder.write("slot_mapping.npy",
                 Tensor::from_values<std::int64_t>({8}, std::vector<std::int64_t>(8, kNoSlot)));
    CHECK(folder.refusal() == "");
    for (const char* name : {"key_cache.npy", "value_cache.npy", "block_table.npy"}) {
      folder.remove(name);
    }
    const AttentionStep step = folder.read().step;
    CHECK(step.cache.spec().num_blocks == 0);
    CHECK(step.metadata.block_table.num_reqs == 3);
    folder.write("slot_mapping.npy",
                 Tensor::from_values<std::int64_t>({8}, {0, -1, -1, -1, -1, -1, -1, -1}));
    CHECK(folder.refusal() == "slot_mapping[0] is 0, but the cache has 0 slots (0 blocks of 1).");
  }

  TEST_CASE("one cache without the other is refused even for encoder_only") {
    const PlainFolder folder;
    folder.write("step.json", R"({"dtype": "float32", "attn_type": "encoder_only"})");
    folder.remove("value_cache.npy");
    CHECK(folder.refusal() == "value_cache.npy: there is no such file.");
  }

  TEST_CASE("expected values have the result's shape and are float64") {
    CHECK(refusal_of("expected_output.npy", Tensor(DType::kFloat64, {8, 4, 5})) == "");
    CHECK(refusal_of("expected_output.npy", Tensor(DType::kFloat64, {8, 4, 3})) ==
          "expected_output.npy: the array has shape [8, 4, 3], but the step's result has [8, 4, "
          "5].");
    CHECK(refusal_of("expected_lse.npy", Tensor(DType::kFloat64, {8, 4})) ==
          "expected_lse.npy: the array has shape [8, 4], but the step's result has [4, 8].");
    CHECK(refusal_of("expected_lse.npy", Tensor(DType::kFloat32, {4, 8})) ==
          "expected_lse.npy: the array is float32, but it must be float64.");
    CHECK(refusal_of("expected_key_cache.npy", Tensor(DType::kFloat32, {8, 4, 2, 4})) ==
          "expected_key_cache.npy: the array has shape [8, 4, 2, 4], but the step's result has [8, "
          "4, 2, 3].");
  }

  TEST_CASE("an inconsistent step is refused in validate's own words") {
    CHECK(refusal_of("seq_lens.npy", Tensor::from_values<std::int32_t>({3}, {6, 3, 10})) ==
          "slot_mapping[2] is 28, but token 2 is position 5 of request 2, whose slot is 29 "
          "(block_table[2][1] is 7, block_size 4).");
    AttentionStep step = plain_step();
    step.metadata.seq_lens[1] = -1;
    const ScratchFolder folder;
    CHECK_THROWS_WITH_AS(write_step_folder(folder.path(), step),
                         "seq_lens[1] is -1, but a length is at least 0.", Error);
    CHECK(std::filesystem::is_empty(folder.path()));
  }

  TEST_CASE("a result is written under the names that interfaces promise") {
    AttentionResult result;
    result.output = Tensor(DType::kBFloat16, {8, 4, 5});
    result.lse = Tensor(DType::kFloat32, {4, 8});
    result.cache = plain_step().cache;
    const ScratchFolder folder;
    write_result(folder.path() / "new" / "folder", result);
    const auto written = [&](const char* name) {
      return read_npy(folder.path() / "new" / "folder" / name);
    };
    CHECK(written("output.npy").dtype() == DType::kUInt16);
    CHECK(written("output.npy").shape() == Shape{8, 4, 5});
    CHECK(identical(written("lse.npy"), result.lse));
    CHECK(identical(written("key_cache.npy"), result.cache.keys()));
    CHECK(identical(written("value_cache.npy"), result.cache.values()));
  }

  TEST_CASE("a folder that cannot be made is refused") {
    const ScratchFolder folder;
    std::ofstream(folder.path() / "file") << "not a folder";
    const std::filesystem::path inside = folder.path() / "file" / "step";
    CHECK_THROWS_WITH_AS(write_step_folder(inside, plain_step()),
                         (inside.string() + ": the folder cannot be made.").c_str(), Error);
  }
}
