/// \file
/// Questions to the registry as JSON, in the words of the golden tables.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reference/registry/selection_question.h"
#include "reference/registry/selector.h"

namespace pagelab {

/// A field, or none if it is missing or null.
template <typename Value>
std::optional<Value> optional_field(const nlohmann::ordered_json& object, const char* name) {
  const auto field = object.find(name);
  if (field == object.end() || field->is_null()) return std::nullopt;
  return field->get<Value>();
}

/// A value as JSON; null if there is none.
template <typename Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

/// Refuses fields that nobody reads. \throws Error naming the field and those that there are
void refuse_unknown_fields(const nlohmann::ordered_json& object,
                           const std::string& where,
                           const std::vector<std::string>& known);

/// "decoder" and so on. \throws Error for another name
AttentionType attention_type_of(const std::string& name);

/// [9, 0]. \throws Error if it is no pair of numbers that are not negative
DeviceCapability device_capability_of(const nlohmann::ordered_json& pair);

/// A record's 18 fields. \throws Error for an unknown field
AttentionSelectorConfig selector_config_from_json(const nlohmann::ordered_json& fields);
/// A record's 18 fields, in its order.
nlohmann::ordered_json to_json(const AttentionSelectorConfig& config);

/// Fills in what differs from the defaults, and the model.
/// \param env       the fields of a line's `env`
/// \param question  its record is set; environment and model are filled in
/// \throws Error    for an unknown field or value
void read_environment(const nlohmann::ordered_json& env, SelectionQuestion& question);

/// The question of a line of the table `selection`. \throws Error for an unknown field or value
SelectionQuestion selection_question_of(const nlohmann::ordered_json& line);

}  // namespace pagelab
