// step.json: defaults, types, and keys that do not belong there.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/reference/contract/folder_change.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

// What the plain step's folder says after its step.json was replaced.
std::string refusal_of_json(const std::string& text) {
  const PlainFolder folder;
  folder.write("step.json", text);
  return folder.refusal();
}

// The same for one more key.
std::string refusal_of_key(const std::string& key_and_value) {
  return refusal_of_json("{\"dtype\": \"float32\", " + key_and_value + "}");
}

}  // namespace

TEST_SUITE("step.json") {
  TEST_CASE("absent keys and null mean plain causal attention with scale one over root head_size") {
    for (const char* text :
         {R"({"dtype": "float32"})",
          R"({"dtype": "float32", "kv_cache_dtype": null, "attn_type": null, "scale": null,
              "causal": null, "sliding_window": null, "logit_softcap": null, "k_scale": null,
              "v_scale": null})"}) {
      const PlainFolder folder;
      folder.write("step.json", text);
      const AttentionStep step = folder.read().step;
      CHECK(step.variant.attn_type == AttnType::kDecoder);
      CHECK(step.variant.scale == 1.0 / std::sqrt(3.0));
      CHECK(step.variant.visibility.causal);
      CHECK(step.variant.visibility.window_left == kUnbounded);
      CHECK(step.variant.visibility.window_right == kUnbounded);
      CHECK_FALSE(step.variant.logit_softcap.has_value());
      CHECK(step.cache.spec().dtype == DType::kFloat32);
      CHECK(step.cache.k_scale == std::vector<float>{1.0f});
      CHECK(step.cache.v_scale == std::vector<float>{1.0f});
    }
  }

  TEST_CASE("the encoder types are not causal unless step.json says so and then they are refused") {
    const std::string cross = R"("attn_type": "encoder_decoder")";
    CHECK(refusal_of_key(cross) == "");
    CHECK(refusal_of_key(cross + R"(, "causal": false)") == "");
    CHECK(refusal_of_key(cross + R"(, "causal": true)") ==
          "attn_type is encoder_decoder, which is never causal, but causal is true.");
  }

  TEST_CASE("every key is read") {
    const PlainFolder folder;
    folder.write("step.json", R"({"dtype": "float32", "scale": 2, "causal": false,
                                  "sliding_window": [3, -1], "logit_softcap": 1.5})");
    const AttentionVariant variant = folder.read().step.variant;
    CHECK(variant.scale == 2.0);
    CHECK_FALSE(variant.visibility.causal);
    CHECK(variant.visibility.window_left == 3);
    CHECK(variant.visibility.window_right == kUnbounded);
    CHECK(variant.logit_softcap == 1.5);
  }

  TEST_CASE("an unknown or repeated or missing key is named") {
    CHECK(refusal_of_key("\"softcap\": 5") ==
          "step.json: the key 'softcap' is unknown; the keys are dtype, kv_cache_dtype, attn_type, "
          "scale, causal, sliding_window, logit_softcap, k_scale, v_scale.");
    CHECK(
        refusal_of_key("\"softcap\": null").starts_with("step.json: the key 'softcap' is unknown"));
    CHECK(refusal_of_key("\"scale\": 1, \"scale\": 2") ==
          "step.json: the key 'scale' occurs twice.");
    CHECK(refusal_of_json("{}") == "step.json: the key 'dtype' is missing.");
  }

  TEST_CASE("a value of another type is shown beside what it must be") {
    CHECK(
        refusal_of_json(R"({"dtype": "int32"})") ==
        "step.json: 'dtype' is \"int32\", but it must be \"float64\", \"float32\", \"float16\" or "
        "\"bfloat16\".");
    CHECK(refusal_of_json(R"({"dtype": null})") ==
          "step.json: 'dtype' is null, but it must be \"float64\", \"float32\", \"float16\" or "
          "\"bfloat16\".");
    CHECK(refusal_of_key(R"("kv_cache_dtype": "int8")") ==
          "step.json: 'kv_cache_dtype' is \"int8\", but it must be \"float64\", \"float32\", "
          "\"float16\", \"bfloat16\", \"fp8_e4m3\" or \"fp8_e5m2\".");
    CHECK(refusal_of_key(R"("attn_type": "encoder")") ==
          "step.json: 'attn_type' is \"encoder\", but it must be \"decoder\", \"encoder_only\" or "
          "\"encoder_decoder\".");
    CHECK(refusal_of_key(R"("causal": 1)") ==
          "step.json: 'causal' is 1, but it must be true or false.");
    CHECK(refusal_of_key(R"("scale": true)") ==
          "step.json: 'scale' is true, but it must be a number.");
    CHECK(refusal_of_key(R"("logit_softcap": "5")") ==
          "step.json: 'logit_softcap' is \"5\", but it must be a number.");
  }

  TEST_CASE("a window is null or two whole numbers of at least -1") {
    for (const std::string window : {"3", "[3]", "[3,0,0]", "[3.0,0]", "[-2,0]", "[true,0]",
                                     "[2147483648,0]", "[18446744073709551615,0]", "{}"}) {
      CAPTURE(window);
      CHECK(refusal_of_key("\"sliding_window\": " + window) ==
            "step.json: 'sliding_window' is " + window +
                ", but it must be null or [left, right], two whole numbers of at least -1.");
    }
  }

  TEST_CASE("what is not JSON is refused with its place") {
    CHECK(refusal_of_json("{\n\"dtype\": \"float32\",\n\"scale\": NaN}") ==
          "step.json: this is not JSON (line 3, byte 32 of the file).");
    CHECK(refusal_of_json("") == "step.json: this is not JSON (line 1, byte 0 of the file).");
    CHECK(refusal_of_json("[1, 2]") == "step.json: the document must be one object, {...}.");
    CHECK(refusal_of_key("\"scale\": 1e999") ==
          "step.json: a number is beyond the range of float64.");
    CHECK(refusal_of_json(std::string(100000, '[')) == "step.json: a value is nested too deeply.");
    CHECK(refusal_of_json(std::string(1 << 20, ' ') + "{}") ==
          "step.json: the file has more than 2^20 bytes.");
  }

  TEST_CASE("a folder without step.json and no folder at all are refused") {
    const PlainFolder folder;
    folder.remove("step.json");
    CHECK(folder.refusal() == "step.json: there is no such file.");
    CHECK_THROWS_WITH_AS(read_step_folder("/no/such/folder"),
                         "/no/such/folder: there is no such folder.", Error);
  }
}
