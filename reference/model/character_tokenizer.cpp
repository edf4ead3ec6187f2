#include "reference/model/character_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/contract/error.h"
#include "reference/model/json_file.h"

namespace pagelab {
namespace {

/// Bytes of the UTF-8 character that begins here; 1 for a byte that begins none.
std::size_t character_bytes(const std::string& text, std::size_t begin) {
  const unsigned char lead = static_cast<unsigned char>(text[begin]);
  const std::size_t wanted = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  std::size_t length = 1;
  while (length < wanted && begin + length < text.size() &&
         (static_cast<unsigned char>(text[begin + length]) & 0xc0) == 0x80) {
    ++length;
  }
  return length == wanted ? length : 1;
}

/// A character as a message shows it: control characters and stray bytes in hexadecimal.
std::string shown(const std::string& character) {
  const unsigned char lead = static_cast<unsigned char>(character[0]);
  const bool is_printable = character.size() > 1 || (lead >= 0x20 && lead < 0x7f);
  return is_printable ? fmt::format("'{}'", character) : fmt::format("byte 0x{:02x}", lead);
}

}  // namespace

CharacterTokenizer::CharacterTokenizer(std::vector<std::string> characters)
    : characters_(std::move(characters)) {
  for (std::size_t token_id = 0; token_id < characters_.size(); ++token_id) {
    const std::string& character = characters_[token_id];
    if (character.empty() || character_bytes(character, 0) != character.size()) {
      throw Error(fmt::format("characters[{}] is \"{}\", which is not one character.", token_id,
                              character));
    }
    const auto [earlier, is_new] =
        token_id_of_.emplace(character, static_cast<std::int32_t>(token_id));
    if (!is_new) {
      throw Error(fmt::format("characters[{}] is {}, which characters[{}] is already.", token_id,
                              shown(character), earlier->second));
    }
  }
}

CharacterTokenizer CharacterTokenizer::load(const std::filesystem::path& folder,
                                            std::int64_t vocab_size) {
  const std::filesystem::path path = folder / "characters.json";
  if (!std::filesystem::exists(path)) {
    throw Error(
        fmt::format("{}: there is no such file. Texts need a model whose tokens are single "
                    "characters; others take token ids.",
                    path.string()));
  }
  const nlohmann::json list = read_json_file(path);
  const auto is_string = [](const nlohmann::json& entry) { return entry.is_string(); };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_string)) {
    throw Error(fmt::format("{}: not a list of strings.", path.string()));
  }
  if (static_cast<std::int64_t>(list.size()) != vocab_size) {
    throw Error(fmt::format("{}: holds {} characters, but the model has {} tokens.", path.string(),
                            list.size(), vocab_size));
  }
  try {
    return CharacterTokenizer(list.get<std::vector<std::string>>());
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

std::vector<std::int32_t> CharacterTokenizer::encode(const std::string& text) const {
  std::vector<std::int32_t> token_ids;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::string character = text.substr(begin, character_bytes(text, begin));
    const auto found = token_id_of_.find(character);
    if (found == token_id_of_.end()) {
      throw Error(
          fmt::format("character {} at position {} of the text is none of the model's {} "
                      "tokens.{}",
                      shown(character), token_ids.size(), characters_.size(),
                      character == "\\" ? " (In bash, $'\\n' is a line break.)" : ""));
    }
    token_ids.push_back(found->second);
    begin += character.size();
  }
  return token_ids;
}

std::string CharacterTokenizer::decode(std::span<const std::int32_t> token_ids) const {
  std::string text;
  for (std::int32_t token_id : token_ids) text += characters_.at(token_id);
  return text;
}

}  // namespace pagelab
