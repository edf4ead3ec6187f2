// Step folders: the sixteen golden ones, round trips, and every way a folder can be wrong.
#include "reference/contract/step_folder.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/cases/attention_cases.h"
#include "tests/support/environment.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

std::vector<std::filesystem::path> golden_steps() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(golden_dir() / "steps")) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

void check_same_vector(const char* name, const std::vector<float>& a, const std::vector<float>& b) {
  INFO(name);
  const std::int64_t size = static_cast<std::int64_t>(a.size());
  REQUIRE(a.size() == b.size());
  CHECK(identical(Tensor::from_values<float>({size}, a), Tensor::from_values<float>({size}, b)));
}

void check_same_metadata(const CommonAttentionMetadata& a, const CommonAttentionMetadata& b) {
  CHECK(a.query_start_loc == b.query_start_loc);
  CHECK(a.seq_lens == b.seq_lens);
  CHECK(a.slot_mapping == b.slot_mapping);
  CHECK(a.block_table.num_reqs == b.block_table.num_reqs);
  CHECK(a.block_table.max_blocks_per_req == b.block_table.max_blocks_per_req);
  CHECK(a.block_table.entries == b.block_table.entries);
}

void check_same_variant(const AttentionVariant& a, const AttentionVariant& b) {
  CHECK(a.attn_type == b.attn_type);
  CHECK(a.scale == b.scale);
  CHECK(a.visibility.causal == b.visibility.causal);
  CHECK(a.visibility.window_left == b.visibility.window_left);
  CHECK(a.visibility.window_right == b.visibility.window_right);
  CHECK(a.logit_softcap == b.logit_softcap);
  check_same_vector("alibi_slopes", a.alibi_slopes, b.alibi_slopes);
  check_same_vector("sinks", a.sinks, b.sinks);
  REQUIRE(a.mm_prefix_ranges.size() == b.mm_prefix_ranges.size());
  for (std::size_t index = 0; index < a.mm_prefix_ranges.size(); ++index) {
    CHECK(a.mm_prefix_ranges[index].req_idx == b.mm_prefix_ranges[index].req_idx);
    CHECK(a.mm_prefix_ranges[index].first == b.mm_prefix_ranges[index].first);
    CHECK(a.mm_prefix_ranges[index].last == b.mm_prefix_ranges[index].last);
  }
}

// Everything but the layout, which a folder does not hold.
void check_same_step(const AttentionStep& a, const AttentionStep& b) {
  CHECK(identical(a.query, b.query));
  CHECK(identical(a.key, b.key));
  CHECK(identical(a.value, b.value));
  CHECK(identical(a.cache.keys(), b.cache.keys()));
  CHECK(identical(a.cache.values(), b.cache.values()));
  check_same_vector("k_scale", a.cache.k_scale, b.cache.k_scale);
  check_same_vector("v_scale", a.cache.v_scale, b.cache.v_scale);
  check_same_metadata(a.metadata, b.metadata);
  check_same_variant(a.variant, b.variant);
}

}  // namespace

TEST_SUITE("step folder") {
  TEST_CASE("all sixteen golden steps are valid and hold what their folder's name says") {
    const std::vector<std::filesystem::path> folders = golden_steps();
    REQUIRE(folders.size() == 16);
    for (const std::filesystem::path& path : folders) {
      const std::string name = path.filename().string();
      CAPTURE(name);
      const StepFolder folder = read_step_folder(path);
      const AttentionVariant& variant = folder.step.variant;
      const auto named = [&](const char* word) { return name.find(word) != std::string::npos; };
      CHECK(name.ends_with(to_string(folder.step.query.dtype())));
      CHECK(named("window") == (variant.visibility.window_left != kUnbounded));
      CHECK(named("softcap") == variant.logit_softcap.has_value());
      CHECK(named("alibi") == !variant.alibi_slopes.empty());
      CHECK(named("sinks") == !variant.sinks.empty());
      CHECK(named("mm_prefix") == !variant.mm_prefix_ranges.empty());
      CHECK(folder.expected.output.has_value());
      CHECK(folder.expected.lse.has_value());
      CHECK(folder.expected.key_cache.has_value());
      CHECK(folder.expected.value_cache.has_value());
    }
  }

  TEST_CASE("a golden step has the numbers that its files hold") {
    // Read with od from 009_decode_alibi_float64: seq_lens.npy, block_table.npy, alibi_slopes.npy.
    const StepFolder folder = read_step_folder(golden_dir() / "steps" / "009_decode_alibi_float64");
    const AttentionStep& step = folder.step;
    CHECK(step.query.shape() == Shape{1, 9, 32});
    CHECK(step.key.shape() == Shape{1, 3, 32});
    CHECK(step.cache.spec().num_blocks == 5);
    CHECK(step.cache.spec().block_size == 32);
    CHECK(step.variant.scale == 0.17677669529663687);
    CHECK(step.metadata.seq_lens == std::vector<std::int32_t>{33});
    CHECK(step.metadata.block_table.entries == std::vector<std::int32_t>{2, 1, -1});
    CHECK(step.metadata.slot_mapping == std::vector<std::int64_t>{32});
    CHECK(step.variant.alibi_slopes[0] == 0.5400299f);
    CHECK(step.variant.alibi_slopes[8] == 0.00390625f);
  }

  TEST_CASE("a golden step written and read again is the same step") {
    for (const std::filesystem::path& path : golden_steps()) {
      CAPTURE(path.filename().string());
      const ScratchFolder copy;
      const StepFolder folder = read_step_folder(path);
      write_step_folder(copy.path(), folder.step, folder.expected);
      const StepFolder again = read_step_folder(copy.path());
      check_same_step(again.step, folder.step);
      CHECK(identical(*again.expected.output, *folder.expected.output));
      CHECK(identical(*again.expected.lse, *folder.expected.lse));
      CHECK(identical(*again.expected.key_cache, *folder.expected.key_cache));
      CHECK(identical(*again.expected.value_cache, *folder.expected.value_cache));
    }
  }

  TEST_CASE("every random step written into one and the same folder is read back as itself") {
    // One folder for all, so that a file left over from an earlier step would show.
    const ScratchFolder folder;
    for (const AttentionCase& attention_case : attention_cases()) {
      CAPTURE(attention_case.name);
      const AttentionStep step = attention_case.step();
      write_step_folder(folder.path(), step);
      const StepFolder again = read_step_folder(folder.path());
      check_same_step(again.step, step);
      CHECK_FALSE(again.expected.output.has_value());
    }
  }
}
