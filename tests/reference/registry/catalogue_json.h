// What catalogue tests share: vLLM's facts as JSON, next to the rows that claim the same.
#pragma once

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reference/registry/catalogue.h"
#include "tests/support/environment.h"

namespace pagelab::test {

using Json = nlohmann::json;

inline const Json& facts_of_vllm() {
  static const Json kFacts =
      Json::parse(std::ifstream(golden_dir() / "registry" / "backends.json"));
  return kFacts;
}

// Every row of ours with vLLM's facts, in order of declaration.
inline std::vector<std::pair<const BackendFacts*, const Json*>> rows_with_facts() {
  std::vector<const BackendFacts*> rows = attention_backends();
  rows.insert(rows.end(), mamba_attention_backends().begin(), mamba_attention_backends().end());
  std::vector<std::pair<const BackendFacts*, const Json*>> pairs;
  for (std::size_t row_idx = 0; row_idx < rows.size(); ++row_idx) {
    pairs.emplace_back(rows[row_idx], &facts_of_vllm().at("backends").at(row_idx));
  }
  return pairs;
}

// The same without the names that have no class.
inline std::vector<std::pair<const BackendFacts*, const Json*>> classes_with_facts() {
  std::vector<std::pair<const BackendFacts*, const Json*>> pairs;
  for (const auto& pair : rows_with_facts()) {
    if (!pair.second->at("class").is_null()) pairs.push_back(pair);
  }
  return pairs;
}

// The capabilities that vLLM's classes were asked at: "7.5" and so on.
inline std::vector<std::string> swept_capabilities() {
  return facts_of_vllm().at("derived").at("capabilities_swept").get<std::vector<std::string>>();
}

inline SelectionQuestion question_at(const std::string& capability) {
  SelectionQuestion question;
  std::sscanf(capability.c_str(), "%d.%d", &question.capability.major, &question.capability.minor);
  return question;
}

}  // namespace pagelab::test
