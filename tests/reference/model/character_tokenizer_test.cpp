#include "reference/model/character_tokenizer.h"

#include <doctest/doctest.h>

#include "tests/reference/model/model_files.h"

using namespace pagelab;
using namespace pagelab::test;

TEST_SUITE("character tokenizer") {
  TEST_CASE("the golden prompts have the golden token ids and come back as text") {
    const CharacterTokenizer tokenizer = CharacterTokenizer::load(tiny_llama_folder(), 65);
    for (const nlohmann::json& golden : tiny_llama_json("golden_greedy.json")) {
      const std::string prompt = golden["prompt"];
      const std::vector<std::int32_t> expected = golden["prompt_ids"];
      CHECK(tokenizer.encode(prompt) == expected);
      CHECK(tokenizer.decode(expected) == prompt);
    }
  }

  TEST_CASE("a character of several bytes is one token") {
    const CharacterTokenizer tokenizer({"a", "é", "€", "😀"});
    CHECK(tokenizer.encode("😀é€a") == std::vector<std::int32_t>{3, 1, 2, 0});
  }

  TEST_CASE("an unknown character is named with its place counted in characters") {
    const CharacterTokenizer tokenizer({"a", "é"});
    CHECK(refusal_of([&] { tokenizer.encode("éaXa"); }) ==
          "character 'X' at position 2 of the text is none of the model's 2 tokens.");
    CHECK(refusal_of([&] { tokenizer.encode("é€"); }) ==
          "character '€' at position 1 of the text is none of the model's 2 tokens.");
    CHECK(refusal_of([&] { tokenizer.encode("a\ta"); }) ==
          "character byte 0x09 at position 1 of the text is none of the model's 2 tokens.");
    CHECK(refusal_of([&] { tokenizer.encode("a\xc3"); }) ==
          "character byte 0xc3 at position 1 of the text is none of the model's 2 tokens.");
    CHECK(refusal_of([&] { tokenizer.encode("a\\n"); }) ==
          "character '\\' at position 1 of the text is none of the model's 2 tokens. (In bash, "
          "$'\\n' is a line break.)");
  }

  TEST_CASE("a list that is no alphabet is refused") {
    CHECK(refusal_of([] {
            CharacterTokenizer({"a", "bc"});
          }) == "characters[1] is \"bc\", which is not one character.");
    CHECK(refusal_of([] {
            CharacterTokenizer({"a", ""});
          }) == "characters[1] is \"\", which is not one character.");
    CHECK(refusal_of([] {
            CharacterTokenizer({"a", "b", "a"});
          }) == "characters[2] is 'a', which characters[0] is already.");
  }

  TEST_CASE("a file that does not fit the model is refused by name") {
    const ScratchFolder folder;
    const std::filesystem::path path = folder.path() / "characters.json";
    CHECK(refusal_of([&] { CharacterTokenizer::load(folder.path(), 2); }) ==
          path.string() +
              ": there is no such file. Texts need a model whose tokens are single "
              "characters; others take token ids.");
    write_file(folder, "characters.json", R"(["a", "b", "c"])");
    CHECK(refusal_of([&] { CharacterTokenizer::load(folder.path(), 2); }) ==
          path.string() + ": holds 3 characters, but the model has 2 tokens.");
    write_file(folder, "characters.json", R"(["a", 2])");
    CHECK(refusal_of([&] { CharacterTokenizer::load(folder.path(), 2); }) ==
          path.string() + ": not a list of strings.");
  }
}
