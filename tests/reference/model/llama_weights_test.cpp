#include "reference/model/llama_weights.h"

#include <doctest/doctest.h>

#include "reference/tensor/safetensors.h"
#include "tests/reference/model/model_files.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

const char* const kKProj = "model.layers.3.self_attn.k_proj.weight";

std::map<std::string, Tensor> tiny_tensors() {
  return read_safetensors(tiny_llama_folder() / "model.safetensors");
}

LlamaConfig tiny_config() { return tiny_llama().config(); }

}  // namespace

TEST_SUITE("Llama weights") {
  TEST_CASE("a linear layer is the transpose of what the file holds") {
    const Tensor stored = tiny_tensors().at(kKProj);  // [64, 128] = [out, in]
    const LlamaWeights weights = llama_weights_from(tiny_tensors(), tiny_config());
    const RowMatrix& k_proj = weights.layers[3].k_proj;  // [in, out]
    REQUIRE(k_proj.rows() == 128);
    REQUIRE(k_proj.cols() == 64);
    CHECK(k_proj(5, 63) == stored.value(63 * 128 + 5));
    CHECK(k_proj(127, 0) == stored.value(127));
  }

  TEST_CASE("weights in sixteen bits are read as the numbers they stand for") {
    for (DType dtype : {DType::kBFloat16, DType::kFloat16}) {
      std::map<std::string, Tensor> tensors = tiny_tensors();
      tensors[kKProj] = convert(tensors[kKProj], dtype);
      const double expected = tensors[kKProj].value(63 * 128 + 5);
      const LlamaWeights weights = llama_weights_from(std::move(tensors), tiny_config());
      CHECK(weights.layers[3].k_proj(5, 63) == expected);
    }
  }

  TEST_CASE("tied embeddings make the logits' matrix out of the embedding") {
    LlamaConfig config = tiny_config();
    config.tie_word_embeddings = true;
    std::map<std::string, Tensor> tensors = tiny_tensors();
    tensors.erase("lm_head.weight");
    const LlamaWeights weights = llama_weights_from(std::move(tensors), config);
    REQUIRE(weights.lm_head.rows() == 128);
    REQUIRE(weights.lm_head.cols() == 65);
    CHECK(weights.lm_head(7, 64) == weights.embed_tokens(64, 7));
  }

  TEST_CASE("an array that is missing or of another shape or dtype is refused by name") {
    std::map<std::string, Tensor> tensors = tiny_tensors();
    tensors.erase("lm_head.weight");
    CHECK(refusal_of([&] { llama_weights_from(tensors, tiny_config()); }) ==
          "the weights lack 'lm_head.weight' of shape [65, 128].");

    tensors = tiny_tensors();
    tensors[kKProj] = Tensor(DType::kFloat32, {128, 64});
    CHECK(refusal_of([&] { llama_weights_from(tensors, tiny_config()); }) ==
          "'model.layers.3.self_attn.k_proj.weight' has shape [128, 64], but config.json makes it "
          "[64, 128].");

    tensors[kKProj] = Tensor(DType::kUInt8, {64, 128});
    CHECK(refusal_of([&] { llama_weights_from(tensors, tiny_config()); }) ==
          "'model.layers.3.self_attn.k_proj.weight' is uint8; weights may be float64, float32, "
          "float16 or bfloat16.");
  }

  TEST_CASE("an array that a Llama does not have is refused but for old RoPE tables") {
    std::map<std::string, Tensor> tensors = tiny_tensors();
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = Tensor(DType::kFloat32, {16});
    CHECK(refusal_of([&] { llama_weights_from(tensors, tiny_config()); }) == "(accepted)");
    tensors["model.layers.0.self_attn.q_proj.bias"] = Tensor(DType::kFloat32, {128});
    CHECK(refusal_of([&] { llama_weights_from(tensors, tiny_config()); }) ==
          "the weights hold 'model.layers.0.self_attn.q_proj.bias', which this Llama does not "
          "have: leaving it out would change the text.");
  }

  TEST_CASE("weights split over several files are refused with what to do") {
    const ScratchFolder folder;
    const std::filesystem::path index = write_file(folder, "model.safetensors.index.json", "{}");
    CHECK(refusal_of([&] { read_llama_weights(folder.path(), tiny_config()); }) ==
          index.string() +
              ": weights split over several files are not supported; join them into "
              "one model.safetensors.");
  }

  TEST_CASE("a folder that is no model is refused by name") {
    CHECK(refusal_of([] { Llama::load("no/such/folder"); }) ==
          "no/such/folder: there is no such folder; a model is a folder with config.json and "
          "model.safetensors.");
  }
}
