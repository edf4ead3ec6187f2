#include "cli/backends_page.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "reference/registry/gpu_names.h"
#include "reference/registry/model_shapes.h"
#include "reference/registry/selection.h"
#include "reference/registry/selector.h"

namespace pagelab::cli {

// backends_page.html, from backends_page.cpp.in.
extern const char* const kBackendsPageHtml;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kOpenBlockSize = 16;  // what a cache config starts from

// What the page asks of every model on every GPU.
const std::vector<std::string>& asked_cache_dtypes() {
  static const std::vector<std::string> kDtypes = {"auto", "fp8", "fp8_e5m2"};
  return kDtypes;
}

std::string escaped(const std::string& text) {
  std::string html;
  for (const char character : text) {
    switch (character) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      default:
        html += character;
    }
  }
  return html;
}

std::string table_as_html(const FeatureTable& table) {
  std::string html =
      "<h3>" + escaped(table.title) + "</h3>\n<div class=\"scroll\"><table>\n<thead><tr>";
  for (const std::string& column : table.columns) html += "<th>" + escaped(column) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    html += "<tr>";
    for (const std::string& cell : row) html += "<td>" + escaped(cell) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string tables_as_html(const std::vector<FeatureTable>& tables) {
  std::string html;
  for (const FeatureTable& table : tables) html += table_as_html(table);
  return html;
}

// The page with a text in each of its places, which follow each other as they do here.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string>>& texts) {
  std::string whole;
  for (const auto& [place, text] : texts) {
    const std::size_t begin = page.find(place);
    whole += page.substr(0, begin);
    whole += text;
    page.remove_prefix(begin + place.size());
  }
  return whole + std::string(page);
}

Json answer_for(const SelectionQuestion& question, const BackendRegistry& registry) {
  const Selection selection = select_attention_backend(question, std::nullopt, registry);
  const AttentionSelectorConfig& config = question.config;
  Json answer;
  answer["kind"] = kv_cache_group_kind(config.attn_type, config.use_mla, config.has_sliding_window);
  answer["selected"] = nullptr;
  if (selection.selected) {
    answer["selected"] = *selection.selected;
    answer["block_size"] = preferred_block_size(*selection.facts, question, kOpenBlockSize);
  }
  answer["candidates"] = selection.candidates;
  answer["invalid"] = Json::object();
  for (const DeclinedBackend& declined : selection.invalid) {
    answer["invalid"][declined.name] = declined.reasons;
  }
  return answer;
}

// Answers, each once; most GPUs and models share theirs.
class Answers {
 public:
  std::size_t index_of(const Json& answer) {
    const auto [place, is_new] = indices_.emplace(answer.dump(), answers_.size());
    if (is_new) answers_.push_back(answer);
    return place->second;
  }
  const Json& all() const { return answers_; }

 private:
  Json answers_ = Json::array();
  std::map<std::string, std::size_t> indices_;
};

// vLLM does not start in bfloat16 on GPUs before Ampere.
const char* dtype_on(DeviceCapability capability) {
  return capability >= DeviceCapability{8, 0} ? "bfloat16" : "float16";
}

Json choices_of_models(DeviceCapability capability,
                       const BackendRegistry& registry,
                       Answers& answers) {
  Json of_models;
  for (const ModelShape& shape : model_shapes()) {
    for (const std::string& kv_cache_dtype : asked_cache_dtypes()) {
      Json& indices = of_models[std::string(shape.name)][kv_cache_dtype];
      for (SelectionQuestion question : questions_of_layers(shape)) {
        question.capability = capability;
        question.config.dtype = dtype_on(capability);
        question.config.kv_cache_dtype = kv_cache_dtype;
        indices.push_back(answers.index_of(answer_for(question, registry)));
      }
    }
  }
  return of_models;
}

// Every GPU with every model and cache.
Json all_choices() {
  const BackendRegistry registry = BackendRegistry::of_attention();
  Answers answers;
  Json data;
  for (const GpuName& gpu : gpu_names()) {
    const std::string capability = to_string(gpu.capability);
    data["gpus"][std::string(gpu.name)] = capability;
    if (data["choices"].contains(capability)) continue;
    data["dtypes"][capability] = dtype_on(gpu.capability);
    data["choices"][capability] = choices_of_models(gpu.capability, registry, answers);
  }
  for (const ModelShape& shape : model_shapes()) {
    data["models"][std::string(shape.name)] = shape.source;
  }
  data["kv_cache_dtypes"] = asked_cache_dtypes();
  data["answers"] = answers.all();
  return data;
}

}  // namespace

std::string backends_page(const std::vector<FeatureTable>& features,
                          const std::vector<FeatureTable>& priorities) {
  // No name and no reason holds "</", so nothing in the answers can end their element.
  return filled(kBackendsPageHtml, {{"<!--FEATURES-->\n", tables_as_html(features)},
                                    {"<!--PRIORITIES-->\n", tables_as_html(priorities)},
                                    {"null</script>", all_choices().dump() + "</script>"}});
}

}  // namespace pagelab::cli
