/// \file
/// A tokenizer whose tokens are single characters (Unicode code points): enough for the tiny Llama.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace pagelab {

/// Text to token ids and back.
class CharacterTokenizer {
 public:
  /// \param characters  UTF-8, the character of each token id
  /// \throws Error      if an entry is not exactly one character, or one stands twice
  explicit CharacterTokenizer(std::vector<std::string> characters);

  /// Reads `characters.json` of a model's folder: a list of one-character strings.
  /// \param folder      the model's folder
  /// \param vocab_size  the number of tokens that the model has
  /// \throws Error      naming the file and what is wrong with it
  static CharacterTokenizer load(const std::filesystem::path& folder, std::int64_t vocab_size);

  /// \param text    UTF-8
  /// \throws Error  naming the first character that is no token and its place, counted from 0
  std::vector<std::int32_t> encode(const std::string& text) const;

  /// \param token_ids  each from 0 to the vocabulary's end
  std::string decode(std::span<const std::int32_t> token_ids) const;

 private:
  std::vector<std::string> characters_;
  std::map<std::string, std::int32_t> token_id_of_;
};

}  // namespace pagelab
