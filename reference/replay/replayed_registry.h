/// \file
/// The golden tables of the registry: `selection` and `selector`.
#pragma once

#include <nlohmann/json.hpp>

namespace pagelab {

/// What the platform selector does with one record.
nlohmann::ordered_json answer_selection(const nlohmann::ordered_json& line);

/// What happens one level up: records, per-kind overrides, vision towers, state-space classes,
/// settings and registration.
nlohmann::ordered_json answer_selector(const nlohmann::ordered_json& line);

}  // namespace pagelab
