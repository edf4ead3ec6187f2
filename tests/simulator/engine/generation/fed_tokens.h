/// \file
/// The tiny Llama through 16-bit kernels. Its texts part from the golden ones where two logits nearly tie, so the
/// golden tokens are fed, and the logits after each of them are compared: they may be 0.25 from those of float64,
/// and where the two best of those are more than twice that apart, the token must be the golden one.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "gpu/backends/catalog.h"
#include "reference/cache/slot_mapping.h"
#include "reference/model/greedy.h"
#include "reference/registry/forwarding_impl.h"
#include "tests/reference/model/model_files.h"

namespace pagelab::test {

inline constexpr double kAllowedError = 0.25;
inline constexpr std::int64_t kFedBlockSize = 16;
inline constexpr std::int64_t kBlocksPerText = 16;  // 256 tokens: a prompt and half of its text

/// Rounds query, key and value to a type, as a model in that type has them.
class RoundingImpl final : public ForwardingImpl {
 public:
  RoundingImpl(std::unique_ptr<AttentionImpl> inner, DType dtype)
      : ForwardingImpl(std::move(inner)), dtype_(dtype) {}

  void do_kv_cache_update(const Tensor& key,
                          const Tensor& value,
                          const std::vector<std::int64_t>& slot_mapping) override {
    ForwardingImpl::do_kv_cache_update(convert(key, dtype_), convert(value, dtype_), slot_mapping);
  }

  void forward(const Tensor& query,
               const Tensor& key,
               const Tensor& value,
               const CommonAttentionMetadata& metadata,
               const AttentionVariant& variant,
               Tensor& output,
               Tensor& lse) override {
    ForwardingImpl::forward(convert(query, dtype_), convert(key, dtype_), convert(value, dtype_),
                            metadata, variant, output, lse);
  }

 private:
  DType dtype_;
};

/// A golden text: the prompt, then the tokens that follow it.
struct FedText {
  std::vector<std::int32_t> tokens;  ///< both
  std::int64_t prompt_len;           ///< tokens of the prompt
};

inline std::vector<FedText> fed_texts(std::int64_t num_fed) {
  std::vector<FedText> texts;
  for (const nlohmann::json& golden : tiny_llama_json("golden_greedy.json")) {
    FedText text{golden["prompt_ids"], 0};
    text.prompt_len = static_cast<std::int64_t>(text.tokens.size());
    const std::vector<std::int32_t> output = golden["output_ids"];
    text.tokens.insert(text.tokens.end(), output.begin(), output.begin() + num_fed);
    texts.push_back(text);
  }
  return texts;
}

/// How many tokens of a text a step takes: first its prompt; then one, with all others, ten times; then pieces
/// next to others' single tokens.
inline std::int64_t num_tokens_of_step(const FedText& text, std::int64_t text_idx, int step) {
  if (step == 0) return text.prompt_len;
  if (step <= 10) return 1;
  return text_idx % 2 == step % 2 ? 1 : 23;
}

/// A pool in which the blocks of the texts alternate.
inline BlockTable alternating_blocks(std::int64_t num_texts) {
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(num_texts));
  std::int32_t next_block = 1;
  for (std::int64_t block = 0; block < kBlocksPerText; ++block) {
    for (auto& row : rows) row.push_back(next_block++);
  }
  return BlockTable::from_rows(rows);
}

/// Feeds the texts and returns the logits after each of their tokens, [text][token] → [vocab_size].
class Feeder {
 public:
  Feeder(const std::vector<FedText>& texts, AttentionLayers layers)
      : texts_(texts),
        layers_(std::move(layers)),
        num_fed_(texts.size(), 0),
        logits_(texts.size()) {}

  std::vector<std::vector<RowVector>> feed() {
    for (int step = 0; feed_step(step); ++step) {
    }
    return std::move(logits_);
  }

 private:
  bool feed_step(int step) {
    const std::int64_t num_texts = static_cast<std::int64_t>(texts_.size());
    LlamaBatch batch;
    std::vector<std::size_t> text_of_token;
    for (std::int64_t text_idx = 0; text_idx < num_texts; ++text_idx) {
      const std::size_t text = static_cast<std::size_t>(text_idx);
      const std::vector<std::int32_t>& tokens = texts_[text].tokens;
      const std::int64_t begin = num_fed_[text];
      const std::int64_t end =
          std::min<std::int64_t>(begin + num_tokens_of_step(texts_[text], text_idx, step),
                                 static_cast<std::int64_t>(tokens.size()));
      batch.token_ids.insert(batch.token_ids.end(), tokens.begin() + begin, tokens.begin() + end);
      text_of_token.resize(batch.token_ids.size(), text);
      batch.metadata.query_start_loc.push_back(static_cast<std::int32_t>(batch.token_ids.size()));
      batch.metadata.seq_lens.push_back(static_cast<std::int32_t>(end));
      num_fed_[text] = end;
    }
    const std::int64_t num_tokens = static_cast<std::int64_t>(batch.token_ids.size());
    if (num_tokens == 0) return false;
    batch.positions = positions_of(batch.metadata.query_start_loc, batch.metadata.seq_lens);
    batch.metadata.block_table = alternating_blocks(num_texts);
    batch.metadata.slot_mapping =
        slot_mapping_of(batch.metadata.block_table, batch.metadata.query_start_loc,
                        batch.metadata.seq_lens, kFedBlockSize, num_tokens);
    for (std::int64_t token = 0; token < num_tokens; ++token) batch.logits_indices.push_back(token);
    const RowMatrix logits = tiny_llama().forward(batch, layers_);
    for (std::int64_t token = 0; token < num_tokens; ++token) {
      logits_[text_of_token[static_cast<std::size_t>(token)]].push_back(logits.row(token));
    }
    return true;
  }

  const std::vector<FedText>& texts_;
  AttentionLayers layers_;
  std::vector<std::int64_t> num_fed_;  // [num_texts]
  std::vector<std::vector<RowVector>> logits_;
};

inline std::vector<std::vector<RowVector>> logits_in_float64(const std::vector<FedText>& texts) {
  const KvCacheSpec spec = tiny_llama().kv_cache_spec(
      1 + kBlocksPerText * static_cast<std::int64_t>(texts.size()), kFedBlockSize);
  const auto backend = make_backend("REFERENCE", "cpu");
  return Feeder(texts, tiny_llama().make_attention_layers(*backend, spec)).feed();
}

inline std::vector<std::vector<RowVector>> logits_in(DType dtype,
                                                     const AttentionBackend& backend,
                                                     const std::vector<FedText>& texts) {
  KvCacheSpec spec = tiny_llama().kv_cache_spec(
      1 + kBlocksPerText * static_cast<std::int64_t>(texts.size()), kFedBlockSize);
  spec.dtype = dtype;
  AttentionLayers layers = tiny_llama().make_attention_layers(backend, spec);
  for (auto& layer : layers) {
    layer = std::make_unique<RoundingImpl>(std::move(layer), dtype);
  }
  return Feeder(texts, std::move(layers)).feed();
}

/// What is fed, and what float64 makes of it.
struct Feed {
  /// \param num_fed_of_each  tokens of each text, the prompt aside
  explicit Feed(std::int64_t num_fed_of_each)
      : num_fed(num_fed_of_each), texts(fed_texts(num_fed)), in_float64(logits_in_float64(texts)) {}

  std::int64_t num_fed;                            ///< of each text
  std::vector<FedText> texts;                      ///< six
  std::vector<std::vector<RowVector>> in_float64;  ///< [text][token] logits after each token
};

/// Checks the logits of the model with attention in a type of 16 bits, and prints how far off they are.
/// \param name     of what attends, for messages
/// \param backend  that attends
/// \param dtype    of query, key, value and cache
/// \param feed     the texts
inline void check_fed_tokens(const std::string& name,
                             const AttentionBackend& backend,
                             DType dtype,
                             const Feed& feed) {
  CAPTURE(name);
  const auto got = logits_in(dtype, backend, feed.texts);
  double worst_error = 0.0;
  std::int64_t num_clear_choices = 0;
  for (std::size_t text = 0; text < feed.texts.size(); ++text) {
    CAPTURE(text);
    const std::vector<std::int32_t>& tokens = feed.texts[text].tokens;
    const std::int64_t num_tokens = static_cast<std::int64_t>(tokens.size());
    REQUIRE(static_cast<std::int64_t>(got[text].size()) == num_tokens);
    for (std::int64_t token = feed.texts[text].prompt_len - 1; token + 1 < num_tokens; ++token) {
      CAPTURE(token);
      const RowVector& expected = feed.in_float64[text][token];
      const double error = (got[text][token] - expected).cwiseAbs().maxCoeff();
      CHECK(error <= kAllowedError);
      worst_error = std::max(worst_error, error);
      const std::int32_t golden = tokens[token + 1];
      const GreedyChoice in_float64 = greedy_choice(expected);
      CHECK(in_float64.token_id == golden);
      if (!(in_float64.top2_gap > 2.0 * kAllowedError)) continue;
      CHECK(greedy_choice(got[text][token]).token_id == golden);
      ++num_clear_choices;
    }
  }
  CHECK(num_clear_choices > 5 * feed.num_fed / 2);  // of 6 times as many
  std::printf("%s on %s in %s: logits up to %.4f from float64's; %d clear choices\n", name.c_str(),
              backend.target().c_str(), std::string(to_string(dtype)).c_str(), worst_error,
              static_cast<int>(num_clear_choices));
}

}  // namespace pagelab::test
