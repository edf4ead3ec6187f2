// Golden table `selection`: one record to one member.

#include "reference/registry/selection.h"
#include "reference/replay/question_json.h"
#include "reference/replay/replayed_registry.h"

namespace pagelab {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

SelectionQuestion selection_question_of(const Json& line) {
  SelectionQuestion question;
  question.config = selector_config_from_json(line.at("config"));
  question.capability = device_capability_of(line.at("device_capability"));
  const Json num_heads = line.value("num_heads", Json(nullptr));
  if (!num_heads.is_null()) question.num_heads = num_heads.get<std::int64_t>();
  read_environment(line.value("env", Json::object()), question);
  question.environment.unavailable =
      line.value("unavailable", Json::array()).get<std::vector<std::string>>();
  return question;
}

Json answer_selection(const Json& line) {
  static const BackendRegistry kRegistry = BackendRegistry::of_attention();
  const Json forced = line.value("forced", Json(nullptr));
  const std::optional<std::string> member =
      forced.is_null() ? std::nullopt : std::optional(forced.get<std::string>());
  const Selection selection =
      select_attention_backend(selection_question_of(line), member, kRegistry);
  Json expect;
  expect["selected"] = or_null(selection.selected);
  expect["valid"] = selection.valid;
  expect["invalid"] = Json::object();
  for (const DeclinedBackend& declined : selection.invalid) {
    expect["invalid"][declined.name] = declined.reasons;
  }
  expect["error"] = selection.error ? Json(selection.error->message) : Json(nullptr);
  expect["warning"] = or_null(selection.warning);
  expect["info"] = or_null(selection.info);
  return {{"expect", expect}};
}

}  // namespace pagelab
