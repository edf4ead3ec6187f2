#include "reference/model/llama_config.h"

#include <doctest/doctest.h>

#include "tests/reference/model/model_files.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

/// Reads the tiny Llama's config.json with one field changed.
LlamaConfig config_with(const std::string& field, const nlohmann::json& value) {
  const ScratchFolder folder;
  nlohmann::json config = tiny_llama_json("config.json");
  config[field] = value;
  return read_llama_config(write_file(folder, "config.json", config.dump()));
}

LlamaConfig config_without(const std::string& field) {
  const ScratchFolder folder;
  nlohmann::json config = tiny_llama_json("config.json");
  config.erase(field);
  return read_llama_config(write_file(folder, "config.json", config.dump()));
}

/// The sentence with which a field's value is refused, without the file's name.
std::string refusal_with(const std::string& field, const nlohmann::json& value) {
  const std::string sentence = refusal_of([&] { config_with(field, value); });
  const std::size_t begin = sentence.find("config.json: ");
  return begin == std::string::npos ? sentence : sentence.substr(begin + 13);
}

}  // namespace

TEST_SUITE("Llama configuration") {
  TEST_CASE("a value nested too deeply is refused before it is printed") {
    const ScratchFolder folder;
    const std::string nested(60000, '[');
    const std::string text = "{\"rope_scaling\": " + nested + std::string(60000, ']') + "}";
    const std::string sentence =
        refusal_of([&] { read_llama_config(write_file(folder, "config.json", text)); });
    CHECK(sentence.find("nested more than 64 levels deep.") != std::string::npos);
  }

  TEST_CASE("the tiny Llama has the sizes that its README names") {
    const LlamaConfig config = read_llama_config(tiny_llama_folder() / "config.json");
    CHECK(config.vocab_size == 65);
    CHECK(config.hidden_size == 128);
    CHECK(config.intermediate_size == 352);
    CHECK(config.num_hidden_layers == 4);
    CHECK(config.num_attention_heads == 4);
    CHECK(config.num_key_value_heads == 2);
    CHECK(config.head_dim == 32);
    CHECK(config.max_position_embeddings == 1024);
    CHECK(config.rope_theta == 10000.0);
    CHECK(config.rms_norm_eps == 1e-5);
    CHECK_FALSE(config.tie_word_embeddings);
    CHECK(config.eos_token_ids.empty());
  }

  TEST_CASE("an absent field means what it means to Hugging Face") {
    CHECK(config_without("num_key_value_heads").num_key_value_heads == 4);
    CHECK(config_without("head_dim").head_dim == 32);  // 128 / 4
    CHECK(config_without("rope_theta").rope_theta == 10000.0);
    CHECK_FALSE(config_without("tie_word_embeddings").tie_word_embeddings);
    CHECK(config_without("hidden_act").vocab_size == 65);
    CHECK(config_with("rope_scaling", nullptr).vocab_size == 65);
    CHECK(config_with("attention_bias", false).vocab_size == 65);
  }

  TEST_CASE("end tokens come as one id or as a list") {
    CHECK(config_with("eos_token_id", 64).eos_token_ids == std::vector<std::int32_t>{64});
    CHECK(config_with("eos_token_id", {0, 5}).eos_token_ids == std::vector<std::int32_t>{0, 5});
    CHECK(config_with("eos_token_id", nullptr).eos_token_ids.empty());
    CHECK(refusal_with("eos_token_id", 65) ==
          "eos_token_id is 65, but token ids run from 0 to 64.");
    CHECK(refusal_with("eos_token_id", {0, -1}) ==
          "eos_token_id is [0,-1], but token ids run from 0 to 64.");
  }

  TEST_CASE("a variation that would change the text is refused by name") {
    CHECK(refusal_with("model_type", "mistral") ==
          "model_type is \"mistral\", but only \"llama\" is supported.");
    CHECK(refusal_with("hidden_act", "gelu") ==
          "hidden_act is \"gelu\", but only \"silu\" is supported.");
    CHECK(refusal_with("rope_scaling", {{"factor", 8}}) ==
          "rope_scaling is {\"factor\":8}, but only null is supported.");
    CHECK(refusal_with("quantization_config", {{"bits", 4}}) ==
          "quantization_config is {\"bits\":4}, but only null is supported.");
    CHECK(refusal_with("attention_bias", true) ==
          "attention_bias is true, but only false is supported.");
    CHECK(refusal_with("mlp_bias", true) == "mlp_bias is true, but only false is supported.");
    CHECK(refusal_with("partial_rotary_factor", 0.5) ==
          "partial_rotary_factor is 0.5, but only 1 is supported.");
  }

  TEST_CASE("a value of the wrong kind or size is refused with what is allowed") {
    for (const nlohmann::json& value : {nlohmann::json(0), nlohmann::json(-4), nlohmann::json(1.5),
                                        nlohmann::json("4"), nlohmann::json(1e18)}) {
      CHECK(refusal_with("num_hidden_layers", value) ==
            "num_hidden_layers is " + value.dump() +
                ", but must be an integer from 1 to 1000000000.");
    }
    CHECK(refusal_with("num_hidden_layers", nullptr) ==
          "num_hidden_layers is absent, but must be an integer from 1 to 1000000000.");
    CHECK(refusal_with("vocab_size", 1) == "vocab_size is 1, but must be 2 at least.");
    CHECK(refusal_with("num_key_value_heads", 3) ==
          "num_attention_heads is 4, but must be a multiple of num_key_value_heads, 3.");
    CHECK(refusal_with("head_dim", 31) ==
          "head_dim is 31, but must be even: RoPE turns pairs of elements.");
    CHECK(refusal_with("rms_norm_eps", 0) == "rms_norm_eps is 0, but must be a number above 0.");
    CHECK(refusal_with("rope_theta", -1) == "rope_theta is -1, but must be a number above 0.");
    CHECK(refusal_with("tie_word_embeddings", "yes") ==
          "tie_word_embeddings is \"yes\", but must be true or false.");
  }

  TEST_CASE("a file that is missing or is not JSON is refused by name") {
    const ScratchFolder folder;
    const std::filesystem::path path = folder.path() / "config.json";
    CHECK(refusal_of([&] { read_llama_config(path); }) ==
          path.string() + ": there is no such file.");
    write_file(folder, "config.json", "{\"vocab_size\": ");
    CHECK(refusal_of([&] { read_llama_config(path); }) ==
          path.string() + ": not JSON, it goes wrong at byte 16.");
    write_file(folder, "config.json", "[]");
    CHECK(refusal_of([&] { read_llama_config(path); }) == path.string() + ": not a JSON object.");
  }
}
