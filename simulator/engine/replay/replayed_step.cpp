// Golden tables `reorder`, `slot_mapping` and `cascade`: what the worker makes of a schedule.

#include "reference/cache/kernel_blocks.h"
#include "reference/contract/refuse.h"
#include "reference/replay/question_json.h"
#include "simulator/engine/in_range.h"
#include "simulator/engine/replay/engine_tables.h"
#include "simulator/engine/replay/line_fields.h"
#include "simulator/engine/step/batch_reorder.h"
#include "simulator/engine/step/batch_split.h"
#include "simulator/engine/step/cascade_decision.h"
#include "simulator/engine/step/step_builder.h"

namespace pagelab {
namespace {

using Json = nlohmann::ordered_json;
using Numbers = std::vector<std::int64_t>;

// Lists of a line that have one entry a request.
void require_same_length(const Json& line, std::initializer_list<const char*> names) {
  const char* first = *names.begin();
  for (const char* name : names) {
    if (line.at(name).size() != line.at(first).size()) {
      refuse("{} has {} entries, but {} has {}.", name, line.at(name).size(), first,
             line.at(first).size());
    }
  }
}

// The requests of a `reorder` line.
std::vector<ScheduledRequest> scheduled_requests_of(const Json& line) {
  require_same_length(line, {"sched", "computed", "prompt", "drafts"});
  std::vector<ScheduledRequest> requests;
  for (std::size_t req_idx = 0; req_idx < line.at("sched").size(); ++req_idx) {
    requests.push_back({line.at("sched").at(req_idx).get<std::int64_t>(),
                        line.at("computed").at(req_idx).get<std::int64_t>(),
                        line.at("prompt").at(req_idx).get<std::int64_t>(),
                        line.at("drafts").at(req_idx).get<std::int64_t>()});
  }
  return requests;
}

std::vector<BatchRow> rows_in_order(const std::vector<ScheduledRequest>& requests,
                                    const Numbers& order) {
  std::vector<BatchRow> rows;
  for (const std::int64_t req_idx : order) {
    const ScheduledRequest& request = requests[static_cast<std::size_t>(req_idx)];
    rows.push_back({request.num_scheduled_tokens, request.seq_len(), request.is_prefilling()});
  }
  return rows;
}

// Each entry of `split`: [threshold, require_uniform, treat_short_extends_as_decodes], and our answer.
Json splits_of(const Json& asked, const std::vector<BatchRow>& rows) {
  Json splits = Json::array();
  for (const Json& question : asked) {
    const SplitRule rule = {question.at(0).get<std::int64_t>(), question.at(1).get<int>() != 0,
                            question.at(2).get<int>() != 0};
    const BatchSplit split = split_decodes_and_prefills(rows, rule);
    Json answered(question.begin(), question.begin() + 3);
    answered.push_back(json_list({split.num_decodes, split.num_prefills, split.num_decode_tokens,
                                  split.num_prefill_tokens}));
    splits.push_back(answered);
  }
  return splits;
}

Json three_way_of(const ThreeWaySplit& split) {
  return json_list({split.num_decodes, split.num_extends, split.num_prefills,
                    split.num_decode_tokens, split.num_extend_tokens, split.num_prefill_tokens});
}

// A padded batch: query lengths alone.
Json answer_padded_batch(const Json& line) {
  std::vector<BatchRow> rows;
  for (const Json& query_len : line.at("query_lens")) {
    rows.push_back({query_len.get<std::int64_t>(), query_len.get<std::int64_t>(), false});
  }
  return {{"split", splits_of(line.at("split"), rows)}};
}

// The batch of a `slot_mapping` or `cascade` line.
std::vector<ScheduledRequest> computed_requests_of(const Json& line) {
  require_same_length(line, {"computed", "qlens"});
  std::vector<ScheduledRequest> requests;
  for (std::size_t req_idx = 0; req_idx < line.at("qlens").size(); ++req_idx) {
    requests.push_back(
        {.num_scheduled_tokens = line.at("qlens").at(req_idx).get<std::int64_t>(),
         .num_computed_tokens = line.at("computed").at(req_idx).get<std::int64_t>()});
  }
  return requests;
}

// The block table of the rows in kernel blocks, as wide as the line says.
Json kernel_table_of(const Json& kernel, const BlockTable& manager_table, std::int64_t block_size) {
  const auto kernel_block_size = kernel.at("kbs").get<std::int64_t>();
  if (kernel_block_size < 1 || block_size % kernel_block_size != 0) {
    refuse("kbs is {}; it must divide the block size {}.", kernel_block_size, block_size);
  }
  const BlockTable table = kernel_block_table(manager_table, block_size / kernel_block_size,
                                              kernel.at("stride").get<std::int64_t>());
  Json rows = Json::array();
  for (std::int64_t req_idx = 0; req_idx < table.num_reqs; ++req_idx) {
    const std::span<const std::int32_t> row = table.row(req_idx);
    rows.push_back(std::vector<std::int32_t>(row.begin(), row.end()));
  }
  Json answered = kernel;
  answered["table"] = rows;
  return answered;
}

CascadeSetting cascade_setting_of(const Json& line) {
  return {.num_query_heads = line.at("hq").get<std::int64_t>(),
          .num_kv_heads = line.at("hkv").get<std::int64_t>(),
          .use_alibi = flag_field(line, "alibi"),
          .use_sliding_window = flag_field(line, "swa"),
          .use_local_attention = flag_field(line, "local"),
          .num_sms = line.at("sms").get<std::int64_t>(),
          .dcp_world_size = line.value("dcp", std::int64_t{1})};
}

Json answer_worker_cascade(const Json& line) {
  CascadeSetting setting = cascade_setting_of(line);
  const auto kind = line.at("kind").get<std::string>();
  if (kind != "full" && kind != "swa") refuse("kind is {}; it may be full or swa.", kind);
  setting.use_sliding_window = kind == "swa";
  return {{"prefix_len", cascade_prefix_len(line.at("blocks").get<std::int64_t>(),
                                            line.at("bs").get<std::int64_t>(),
                                            computed_requests_of(line), setting)}};
}

}  // namespace

Json answer_reorder(const Json& line) {
  if (line.contains("query_lens")) return answer_padded_batch(line);
  const std::vector<ScheduledRequest> requests = scheduled_requests_of(line);
  const auto threshold = line.at("thr").get<std::int64_t>();
  const BatchReorder reorder = reorder_batch_to_split_decodes_and_prefills(requests, threshold);
  const std::vector<BatchRow> rows = rows_in_order(requests, reorder.order);
  Json answer;
  answer["mod"] = int{reorder.modified};
  answer["order"] = reorder.order;
  answer["swaps"] = Json::array();
  for (const auto& [source, destination] : reorder.swaps) {
    answer["swaps"].push_back(json_list({source, destination}));
  }
  answer["split"] = splits_of(line.at("split"), rows);
  answer["ext"] = three_way_of(split_decodes_prefills_and_extends(rows, threshold));
  answer["order2"] = sorted_batch(requests, line.at("dq").get<std::int64_t>());
  return answer;
}

Json answer_slot_mapping(const Json& line) {
  require_same_length(line, {"computed", "qlens", "rows"});
  std::vector<StepRequest> requests;
  for (const ScheduledRequest& scheduled : computed_requests_of(line)) {
    const Json& row = line.at("rows").at(requests.size());
    requests.push_back({scheduled, row.get<std::vector<std::int32_t>>()});
  }
  StepLayout layout = {.block_size = line.at("bs").get<std::int64_t>()};
  const Json& parallel = line.at("cp");
  layout.parallel = {parallel.at(0).get<std::int64_t>(), parallel.at(1).get<std::int64_t>(),
                     parallel.at(2).get<std::int64_t>()};
  const auto num_reqs = static_cast<std::int64_t>(requests.size());
  if (line.contains("kernel")) {
    layout.max_blocks_per_req = line.at("kernel").at("width").get<std::int64_t>();
  }
  // The table's buffers have room for three requests more.
  const BuiltStep step =
      build_step(requests, layout, PaddedShape{line.at("cap").get<std::int64_t>(), num_reqs + 3});

  Json answer = {{"slots", step.metadata.slot_mapping},
                 {"pos", step.positions},
                 {"seq_lens", step.metadata.seq_lens}};
  if (line.contains("kernel")) {
    BlockTable table = step.metadata.block_table;
    table.entries.resize(static_cast<std::size_t>(num_reqs * table.max_blocks_per_req));
    table.num_reqs = num_reqs;
    answer["kernel"] = kernel_table_of(line.at("kernel"), table, layout.block_size);
  }
  return answer;
}

Json answer_cascade(const Json& line) {
  if (line.contains("worker")) return answer_worker_cascade(line);
  Numbers query_lens;
  for (const Json& run : line.at("q")) {
    const auto num_reqs = run.at(1).get<std::int64_t>();
    require_in_range("the number of requests of a run", num_reqs, 0);
    query_lens.insert(query_lens.end(), static_cast<std::size_t>(num_reqs),
                      run.at(0).get<std::int64_t>());
  }
  const bool use = use_cascade_attention(line.at("common").get<std::int64_t>(), query_lens,
                                         cascade_setting_of(line));
  // FlashInfer's builder says no whatever the batch.
  return {{"fa", int{use}}, {"fi", 0}};
}

}  // namespace pagelab
