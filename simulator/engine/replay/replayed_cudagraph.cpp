// Golden tables `capture_sizes`, `cudagraph_mode` and `cudagraph_dispatch`.

#include "reference/contract/refuse.h"
#include "reference/replay/question_json.h"
#include "simulator/engine/cudagraph/capture_sizes.h"
#include "simulator/engine/cudagraph/cudagraph_dispatcher.h"
#include "simulator/engine/cudagraph/cudagraph_manager.h"
#include "simulator/engine/cudagraph/mode_resolution.h"
#include "simulator/engine/replay/engine_tables.h"
#include "simulator/engine/replay/line_fields.h"

namespace pagelab {
namespace {

using Json = nlohmann::ordered_json;
using Sizes = std::vector<std::int64_t>;

CompilationMode compilation_mode_of(std::int64_t number) {
  if (number < 0 || number > 3) {
    refuse("compile is {}; it may be 0 (none), 1 (stock), 2 (traced once) or 3 (vLLM).", number);
  }
  return static_cast<CompilationMode>(number);
}

CudagraphModeRequest request_of(const Json& line) {
  CudagraphModeRequest request;
  request.mode = cudagraph_mode_of(line.at("mode").get<std::string>());
  // The table's backend has this name; a minimum of ALWAYS has none.
  request.min_support = min_cudagraph_support(
      {{cudagraph_support_of(line.at("support").get<std::string>()), "SomeBackend"}});
  request.compilation_mode = compilation_mode_of(line.at("compile").get<std::int64_t>());
  request.splitting_ops_contain_attention = flag_field(line, "split_attn");
  request.use_inductor_graph_partition = flag_field(line, "inductor_partition");
  request.piecewise_capture_available = flag_field(line, "piecewise_ok");
  request.uniform_decode_query_len = line.at("q").get<std::int64_t>();
  request.model_runner_v2 = flag_field(line, "v2");
  request.capture_sizes = {line.at("sizes").get<Sizes>(), line.at("max").get<std::int64_t>()};
  request.has_mamba_layers = flag_field(line, "mamba");
  request.is_profiling = flag_field(line, "profiling");
  request.num_mamba_blocks = line.at("num_blocks").get<std::int64_t>();
  request.max_num_seqs = line.at("max_num_reqs").get<std::int64_t>();
  return request;
}

Json to_json(const BatchDescriptor& descriptor) {
  return {descriptor.num_tokens, or_null(descriptor.num_reqs), int{descriptor.uniform},
          int{descriptor.has_lora}, descriptor.num_active_loras};
}

Json to_json(const BatchExecutionDescriptor& descriptor) {
  return {to_string(descriptor.cg_mode),     descriptor.num_tokens,
          or_null(descriptor.num_reqs),      or_null(descriptor.uniform_token_count),
          or_null(descriptor.max_query_len), descriptor.num_active_loras};
}

// [["FULL", [descriptor, ...]], ...].
template <typename Descriptors>
Json keys_of(const Descriptors& descs) {
  Json keys = Json::array();
  for (const auto& [mode, of_mode] : descs) {
    Json listed = Json::array();
    for (const auto& descriptor : of_mode) listed.push_back(to_json(descriptor));
    keys.push_back({to_string(mode), listed});
  }
  return keys;
}

std::optional<LoraCaptureSettings> lora_of(const Json& lora) {
  if (lora.is_null()) return std::nullopt;
  return LoraCaptureSettings{lora.at("max_loras").get<std::int64_t>(),
                             flag_field(lora, "specialize"), flag_field(lora, "count_specialized")};
}

// The modes in the list; all if there is none.
AllowedModes modes_of(const Json& names) {
  if (names.is_null()) return {};
  AllowedModes modes = {false, false, false};
  for (const Json& name : names) {
    const CUDAGraphMode mode = cudagraph_mode_of(name.get<std::string>());
    modes.none = modes.none || mode == CUDAGraphMode::kNone;
    modes.piecewise = modes.piecewise || mode == CUDAGraphMode::kPiecewise;
    modes.full = modes.full || mode == CUDAGraphMode::kFull;
  }
  return modes;
}

AllowedModes allowed_of(const Json& valid, const Json& invalid) {
  const AllowedModes in = modes_of(valid);
  const AllowedModes out =
      invalid.is_null() ? AllowedModes{false, false, false} : modes_of(invalid);
  return {in.none && !out.none, in.piecewise && !out.piecewise, in.full && !out.full};
}

Json answer_first_runner(const Json& line) {
  const CudagraphDispatcher dispatcher(
      {.mode = cudagraph_mode_of(line.at("mode").get<std::string>()),
       .capture_sizes = line.at("sizes").get<Sizes>(),
       .uniform_decode_query_len = line.at("q").get<std::int64_t>(),
       .max_num_seqs = line.at("max_num_seqs").get<std::int64_t>(),
       .lora = lora_of(line.at("lora"))});
  Json queries = Json::array();
  for (const Json& query : line.at("queries")) {
    // [tokens, uniform, has_lora, loras, valid, invalid]; has_lora is whether loras is not 0.
    const CudagraphDispatch dispatch = dispatcher.dispatch(
        {.num_tokens = query.at(0).get<std::int64_t>(),
         .uniform_decode = query.at(1).get<int>() != 0,
         .num_active_loras = query.at(2).get<int>() != 0 ? query.at(3).get<std::int64_t>() : 0},
        allowed_of(query.at(4), query.at(5)));
    Json answered(query.begin(), query.begin() + 6);
    answered.push_back(to_string(dispatch.mode));
    answered.push_back(to_json(dispatch.descriptor));
    queries.push_back(answered);
  }
  return {{"keys", keys_of(dispatcher.get_capture_descs())}, {"queries", queries}};
}

Json answer_second_runner(const Json& line) {
  const CudaGraphManager manager({.mode = cudagraph_mode_of(line.at("mode").get<std::string>()),
                                  .capture_sizes = line.at("sizes").get<Sizes>(),
                                  .decode_query_len = line.at("q").get<std::int64_t>(),
                                  .varlen_decode = flag_field(line, "varlen"),
                                  .max_num_seqs = line.at("max_num_seqs").get<std::int64_t>(),
                                  .lora_cases = line.at("lora_cases").get<Sizes>()});
  Json queries = Json::array();
  for (const Json& query : line.at("queries")) {
    // [reqs, tokens, uniform_token_count, loras, max_query_len].
    const BatchExecutionDescriptor descriptor =
        manager.dispatch({.num_reqs = query.at(0).get<std::int64_t>(),
                          .num_tokens = query.at(1).get<std::int64_t>(),
                          .uniform_token_count = optional_element(query, 2),
                          .max_query_len = optional_element(query, 4),
                          .num_active_loras = query.at(3).get<std::int64_t>()});
    Json answered(query.begin(), query.begin() + 5);
    answered.push_back(to_json(descriptor));
    queries.push_back(answered);
  }
  return {{"keys", keys_of(manager.get_capture_descs())}, {"queries", queries}};
}

}  // namespace

Json answer_capture_sizes(const Json& line) {
  const CaptureSizes sizes = capture_sizes(
      {.max_num_seqs = line.at("max_num_seqs").get<std::int64_t>(),
       .max_num_batched_tokens = line.at("max_num_batched_tokens").get<std::int64_t>(),
       .uniform_decode_query_len = line.at("q").get<std::int64_t>(),
       .cudagraph_capture_sizes = optional_field<Sizes>(line, "user_sizes"),
       .max_cudagraph_capture_size = optional_field<std::int64_t>(line, "user_max"),
       .interactivity = flag_field(line, "interactivity"),
       .data_centre_blackwell = flag_field(line, "blackwell")});
  return {{"sizes", sizes.sizes}, {"max", sizes.max}};
}

Json answer_cudagraph_mode(const Json& line) {
  const ResolvedCudagraphMode resolved = resolve_cudagraph_mode(request_of(line));
  Json out;
  if (resolved.error) {
    out["error"] = *resolved.error;
  } else {
    out["mode"] = to_string(resolved.mode);
    out["sizes"] = resolved.capture_sizes.sizes;
    out["max"] = resolved.capture_sizes.max;
  }
  out["warn"] = Json::array();
  for (const CudagraphDowngrade& downgrade : resolved.downgrades) {
    out["warn"].push_back(downgrade.warning);
  }
  return {{"out", out}};
}

Json answer_cudagraph_dispatch(const Json& line) {
  const auto runner = line.at("runner").get<std::int64_t>();
  if (runner != 1 && runner != 2) {
    refuse("runner is {}; there is a first and a second one.", runner);
  }
  return runner == 1 ? answer_first_runner(line) : answer_second_runner(line);
}

}  // namespace pagelab
