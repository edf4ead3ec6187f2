/// \file
/// Reads a JSON file of a model's folder. Only the model's own sources include this.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace pagelab {

/// Parses a JSON file.
/// \throws Error  naming the file, if it cannot be read or is not JSON
nlohmann::json read_json_file(const std::filesystem::path& path);

}  // namespace pagelab
