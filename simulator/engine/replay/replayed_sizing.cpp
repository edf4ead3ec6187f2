// Golden table `sizing`: pages of layers, pages made equal, and the admission cap of a window.

#include "reference/contract/refuse.h"
#include "reference/replay/question_json.h"
#include "simulator/engine/replay/engine_tables.h"
#include "simulator/engine/replay/line_fields.h"
#include "simulator/engine/sizing/kv_cache_spec.h"

namespace pagelab {
namespace {

using Json = nlohmann::ordered_json;

DType dtype_of(const std::string& name) {
  const std::optional<DType> dtype = dtype_from_name(name);
  if (!dtype) refuse("dtype is {}; no element type has this name.", name);
  return *dtype;
}

KVCacheKind kind_of(const std::string& name) {
  if (name == "full") return KVCacheKind::kFullAttention;
  if (name == "swa") return KVCacheKind::kSlidingWindow;
  if (name == "mla") return KVCacheKind::kMla;
  if (name == "mamba") return KVCacheKind::kMamba;
  refuse("kind is {}; it may be full, swa, mla or mamba.", name);
}

std::vector<MambaState> states_of(const Json& fields) {
  std::vector<MambaState> states;
  for (const Json& shape : fields.at("shapes")) {
    const auto dtype = fields.at("dtypes").at(states.size()).get<std::string>();
    states.push_back({shape.get<std::vector<std::int64_t>>(), dtype_of(dtype)});
  }
  return states;
}

KVCacheSpec spec_of(const Json& fields) {
  KVCacheSpec spec;
  spec.kind = kind_of(fields.at("kind").get<std::string>());
  spec.block_size = fields.at("bs").get<std::int64_t>();
  if (spec.kind == KVCacheKind::kMamba) {
    spec.mamba_states = states_of(fields);
    return spec;
  }
  spec.head_size = fields.at("hd").get<std::int64_t>();
  spec.dtype = dtype_of(fields.at("dtype").get<std::string>());
  spec.state_content_bytes = optional_field<std::int64_t>(fields, "content");
  spec.alignment = optional_field<std::int64_t>(fields, "align");
  if (spec.kind == KVCacheKind::kMla) {
    spec.head_size_v = 0;
    return spec;
  }
  spec.num_kv_heads = fields.at("heads").get<std::int64_t>();
  spec.head_size_v = spec.head_size;
  if (spec.kind == KVCacheKind::kSlidingWindow) {
    spec.sliding_window = fields.at("win").get<std::int64_t>();
  }
  return spec;
}

Json answer_unify(const Json& line) {
  std::vector<KVCacheSpec> specs;
  for (const Json& fields : line.at("specs")) specs.push_back(spec_of(fields));
  const std::optional<std::vector<KVCacheSpec>> unified = unify_page_sizes(specs);
  if (!unified) return {{"out", nullptr}};
  Json out = Json::array();
  for (const KVCacheSpec& spec : *unified) {
    out.push_back(json_list({spec.block_size, page_size_bytes(spec)}));
  }
  return {{"out", out}};
}

}  // namespace

Json answer_sizing(const Json& line) {
  const auto what = line.at("what").get<std::string>();
  if (what == "unify") return answer_unify(line);
  const KVCacheSpec spec = spec_of(line.at("spec"));
  if (what == "page") {
    return {{"page_bytes", page_size_bytes(spec)}, {"unpadded", real_page_size_bytes(spec)}};
  }
  if (what == "swa_cap") {
    return {{"blocks", max_admission_blocks_per_request(
                           spec, line.at("max_in_flight_tokens").get<std::int64_t>(),
                           line.at("max_model_len").get<std::int64_t>())}};
  }
  refuse("what is {}; it may be page, unify or swa_cap.", what);
}

}  // namespace pagelab
