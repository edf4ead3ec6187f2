#include "cli/backends_page.h"

#include <map>
#include <nlohmann/json.hpp>

#include "reference/registry/gpu_names.h"
#include "reference/registry/model_shapes.h"
#include "reference/registry/selection.h"
#include "reference/registry/selector.h"

namespace pagelab::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kOpenBlockSize = 16;  // what a cache config starts from

// What the page asks of every model on every GPU.
const std::vector<std::string>& asked_cache_dtypes() {
  static const std::vector<std::string> kDtypes = {"auto", "fp8", "fp8_e5m2"};
  return kDtypes;
}

constexpr const char* kHead = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Attention backends of vLLM 0.32.0</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 80rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
button { font: inherit; margin: 0 .25rem .25rem 0; padding: .1rem .5rem; border: 1px solid #999; border-radius: .3rem;
  background: #fff; cursor: pointer; }
button.chosen { background: #1a5fb4; border-color: #1a5fb4; color: #fff; }
.row { margin: .4rem 0; } .row b { display: inline-block; min-width: 4.5rem; }
#answer { border-left: 4px solid #1a5fb4; padding: .2rem 1rem; margin: 1rem 0; }
.selected { font-weight: 600; } .reasons { color: #777; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; }
th, td { border: 1px solid #ccc; padding: .2rem .45rem; text-align: left; vertical-align: top; }
th { background: #eee; cursor: pointer; white-space: nowrap; }
input { font: inherit; width: 20rem; padding: .2rem .4rem; }
@media (prefers-color-scheme: dark) {
  body { background: #1d1f21; color: #ddd; } button, input { background: #2b2d30; color: #ddd; }
  th { background: #2b2d30; } th, td { border-color: #555; }
}
</style>
</head>
<body>
<h1>Attention backends of vLLM 0.32.0</h1>
<p>Written by <code>pagelab backends --html</code>: nothing here is typed by hand, and nothing is loaded from anywhere.
Every choice is that of pagelab's selection, which equals vLLM's own on 1,570 golden records.</p>
<h2>Which backend on this GPU for this model?</h2>
<div id="chooser"><noscript>The chooser needs JavaScript; <code>pagelab select</code> answers without.</noscript></div>
<div id="answer"></div>
<h2>What each can do</h2>
<p><input id="search" type="search" placeholder="search: fp8_e5m2, Sparse, 9.x, ..." aria-label="search the tables">
Click on a column's head to sort by it.</p>
)html";

constexpr const char* kScript = R"html(<script>
'use strict';
const data = JSON.parse(document.getElementById('choices').textContent);
const state = { gpu: 'h100', model: 'llama-3-8b', kv_cache_dtype: 'auto' };
function element(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}
function addButtons(title, key, names) {
  const row = element('div', undefined, 'row');
  row.append(element('b', title));
  for (const name of names) {
    const button = element('button', name);
    button.onclick = () => { state[key] = name; update(); };
    button.dataset.key = key;
    row.append(button);
  }
  document.getElementById('chooser').append(row);
}
function layerOf(answer) {
  const layer = element('div');
  layer.append(element('p', answer.kind + ': ' + (answer.selected
    ? answer.selected + ', blocks of ' + answer.block_size : 'nobody'), 'selected'));
  const list = element('ol');
  for (const name of answer.candidates) {
    const item = element('li', name);
    const reasons = answer.invalid[name];
    item.append(element('span', reasons ? ' — ' + reasons.join('; ') : ' — valid', 'reasons'));
    list.append(item);
  }
  layer.append(list);
  return layer;
}
function update() {
  for (const button of document.querySelectorAll('#chooser button')) {
    button.className = state[button.dataset.key] === button.textContent ? 'chosen' : '';
  }
  const capability = data.gpus[state.gpu];
  const answer = document.getElementById('answer');
  answer.replaceChildren(element('p', state.model + ' (' + data.models[state.model] + '), bfloat16, cache ' +
    state.kv_cache_dtype + ', on ' + state.gpu + ' (capability ' + capability + '):'));
  for (const index of data.choices[capability][state.model][state.kv_cache_dtype]) {
    answer.append(layerOf(data.answers[index]));
  }
}
addButtons('GPU', 'gpu', Object.keys(data.gpus));
addButtons('model', 'model', Object.keys(data.models));
addButtons('cache', 'kv_cache_dtype', data.kv_cache_dtypes);
update();

document.getElementById('search').oninput = (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/);
  for (const row of document.querySelectorAll('tbody tr')) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
};
for (const head of document.querySelectorAll('th')) {
  head.onclick = () => {
    const column = head.cellIndex, body = head.closest('table').tBodies[0];
    const direction = head.dataset.direction === '1' ? -1 : 1;
    head.dataset.direction = direction;
    const rows = Array.from(body.rows);
    rows.sort((a, b) => direction * a.cells[column].textContent.localeCompare(
      b.cells[column].textContent, 'en', { numeric: true }));
    body.append(...rows);
  };
}
</script>
</body>
</html>
)html";

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

Json choices_of_models(DeviceCapability capability,
                       const BackendRegistry& registry,
                       Answers& answers) {
  Json of_models;
  for (const ModelShape& shape : model_shapes()) {
    for (const std::string& kv_cache_dtype : asked_cache_dtypes()) {
      Json& indices = of_models[std::string(shape.name)][kv_cache_dtype];
      for (SelectionQuestion question : questions_of_layers(shape)) {
        question.capability = capability;
        question.config.dtype = "bfloat16";
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
  std::string page = kHead;
  for (const FeatureTable& table : features) page += table_as_html(table);
  page += "<h2>In which order they are tried</h2>\n";
  for (const FeatureTable& table : priorities) page += table_as_html(table);
  // No name and no reason holds "</", so nothing in here can end the element.
  page +=
      "<script type=\"application/json\" id=\"choices\">" + all_choices().dump() + "</script>\n";
  return page + kScript;
}

}  // namespace pagelab::cli
