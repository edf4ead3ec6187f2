#include "simulator/engine/replay/line_fields.h"

#include "reference/contract/refuse.h"

namespace pagelab {

bool flag_field(const nlohmann::ordered_json& object, const char* name) {
  const auto field = object.find(name);
  if (field == object.end()) return false;
  if (*field != 0 && *field != 1) refuse("{} is {}; it is a flag, 0 or 1.", name, field->dump());
  return *field == 1;
}

std::optional<std::int64_t> optional_element(const nlohmann::ordered_json& list,
                                             std::size_t index) {
  const nlohmann::ordered_json& element = list.at(index);
  if (element.is_null()) return std::nullopt;
  return element.get<std::int64_t>();
}

nlohmann::ordered_json json_list(std::initializer_list<std::int64_t> numbers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::int64_t number : numbers) list.push_back(number);
  return list;
}

}  // namespace pagelab
