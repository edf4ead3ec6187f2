/// \file
/// The tiny Llama's files, to be changed by tests: configurations and weights that are wrong in one
/// place.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/contract/error.h"
#include "reference/model/llama.h"
#include "tests/support/scratch_folder.h"

namespace pagelab::test {

/// Writes a file of a folder and returns its path.
inline std::filesystem::path write_file(const ScratchFolder& folder,
                                        const std::string& name,
                                        const std::string& contents) {
  const std::filesystem::path path = folder.path() / name;
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

/// A JSON file of the tiny Llama's folder.
inline nlohmann::json tiny_llama_json(const std::string& name) {
  std::ifstream stream(tiny_llama_folder() / name);
  return nlohmann::json::parse(stream);
}

/// The model itself, loaded once a test program.
inline const Llama& tiny_llama() {
  static const Llama model = Llama::load(tiny_llama_folder());
  return model;
}

/// The sentence that `action` throws, or "(accepted)".
template <typename Action>
std::string refusal_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(accepted)";
}

}  // namespace pagelab::test
