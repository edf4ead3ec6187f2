// Golden table `scheduler`: requests that arrive over time, and every step of the engine's loop.

#include <algorithm>
#include <deque>
#include <limits>

#include "reference/contract/refuse.h"
#include "simulator/engine/replay/engine_json.h"
#include "simulator/engine/replay/engine_tables.h"
#include "simulator/engine/schedule/scheduler.h"

namespace pagelab {
namespace {

using Json = nlohmann::ordered_json;

KVCacheConfig scheduled_cache_of(const Json& cfg) {
  KVCacheConfig cache;
  cache.block_size = number_field(cfg, "block_size");
  cache.num_blocks = number_field(cfg, "num_blocks");
  cache.max_model_len = number_field(cfg, "max_model_len");
  cache.enable_caching = cfg.at("caching").get<bool>();
  cache.watermark = cfg.value("watermark", 0.0);
  cache.groups = groups_of_json(cfg.at("groups"));
  return cache;
}

SchedulingPolicy policy_of(const std::string& name) {
  if (name == "fcfs") return SchedulingPolicy::kFcfs;
  if (name == "priority") return SchedulingPolicy::kPriority;
  refuse("policy is {}; it may be one of: fcfs, priority.", name);
}

SchedulerConfig scheduler_config_of(const Json& cfg) {
  SchedulerConfig config;
  config.max_num_seqs = number_field(cfg, "max_num_seqs");
  config.max_num_batched_tokens = number_field(cfg, "max_num_batched_tokens");
  if (cfg.contains("max_num_active_seqs")) {
    config.max_num_active_seqs = number_field(cfg, "max_num_active_seqs");
  }
  config.enable_chunked_prefill = cfg.at("enable_chunked_prefill").get<bool>();
  config.policy = policy_of(cfg.at("policy").get<std::string>());
  config.scheduler_reserve_full_isl = cfg.value("scheduler_reserve_full_isl", true);
  config.long_prefill_token_threshold = number_field(cfg, "long_prefill_token_threshold", 0);
  config.long_prefill_token_threshold_adaptive =
      cfg.value("long_prefill_token_threshold_adaptive", false);
  config.num_speculative_tokens = number_field(cfg, "spec", 0);
  config.async_scheduling = cfg.at("async").get<bool>();
  return config;
}

// Block ids of the admitted: [[id, computed tokens, blocks], …].
Json admissions_json(const std::vector<AdmittedRequest>& admitted) {
  Json list = Json::array();
  for (const AdmittedRequest& request : admitted) {
    list.push_back({request.id, request.num_computed_tokens, request.block_ids});
  }
  return list;
}

Json sorted(std::vector<RequestId> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

// The loop of the engine, with a model whose answers the table gives.
class EngineLoop {
 public:
  explicit EngineLoop(const Json& line)
      : line_(line),
        scheduler_(scheduler_config_of(line.at("cfg")), scheduled_cache_of(line.at("cfg"))),
        depth_(scheduler_.config().async_scheduling ? 2 : 1) {}

  Json run() {
    std::int64_t now = 0;
    while (true) {
      admit_and_act(now);
      if (scheduler_.has_requests()) {
        in_flight_.push_back(scheduler_.schedule());
        const SchedulerOutput& step = in_flight_.back();
        record(now++, step);
        const bool more = step.total_num_scheduled_tokens > 0 || scheduler_.has_requests();
        if (in_flight_.size() < depth_ && more) continue;
      } else if (in_flight_.empty()) {
        if (next_arrival_ == line_.at("reqs").size()) break;
        now = std::max(now + 1, line_.at("reqs").at(next_arrival_).at("t").get<std::int64_t>());
        continue;
      } else {
        ++now;
      }
      process_oldest();
    }
    return {{"steps", std::move(steps_)},
            {"totals",
             {{"steps", steps_count_},
              {"preemptions", num_preemptions_},
              {"hit_tokens_new", num_hit_tokens_}}}};
  }

 private:
  void admit_and_act(std::int64_t now) {
    const Json& requests = line_.at("reqs");
    while (next_arrival_ < requests.size() &&
           requests.at(next_arrival_).at("t").get<std::int64_t>() <= now) {
      const Json& arriving = requests.at(next_arrival_++);
      Request request(arriving.at("id").get<RequestId>(), tokens_of_runs(arriving.at("prompt")),
                      number_field(arriving, "max_tokens"));
      request.priority = arriving.at("prio").get<std::int64_t>();
      request.arrival_time = static_cast<double>(request.id);
      scheduler_.add_request(std::move(request));
    }
    const Json& events = line_.at("events");
    while (next_event_ < events.size() && events.at(next_event_).at(0).get<std::int64_t>() <= now) {
      act(events.at(next_event_++));
    }
  }

  void act(const Json& event) {
    const auto what = event.at(1).get<std::string>();
    const auto argument = event.at(2).get<std::int64_t>();
    if (what == "reset") {
      scheduler_.reset_prefix_cache(argument == 1);
    } else if (what == "abort") {
      // The table's users abort requests that have finished in the meantime, too.
      if (scheduler_.is_unfinished(argument)) scheduler_.abort_request(argument);
    } else {
      refuse("an event is {}; it may be one of: abort, reset.", what);
    }
  }

  void record(std::int64_t now, const SchedulerOutput& step) {
    Json scheduled = Json::array(), drafts = Json::array(), blocks = Json::array();
    for (const ScheduledTokens& part : step.scheduled) {
      scheduled.push_back({part.id, part.num_tokens});
      if (part.num_draft_tokens > 0) drafts.push_back({part.id, part.num_draft_tokens});
    }
    for (const NewBlocks& added : step.new_blocks) blocks.push_back({added.id, added.block_ids});
    const BlockPool& pool = scheduler_.kv_cache_manager().pool();
    Json recorded = {{"t", now},
                     {"s", std::move(scheduled)},
                     {"new", admissions_json(step.new_requests)},
                     {"res", admissions_json(step.resumed_requests)},
                     {"blk", std::move(blocks)},
                     {"pre", sorted(step.preempted_req_ids)},
                     {"fin", sorted(step.finished_req_ids)},
                     {"nrun", scheduler_.running().size()},
                     {"nwait", scheduler_.num_waiting()},
                     {"free", pool.num_free_blocks()},
                     {"cp", step.num_common_prefix_blocks},
                     {"qh", fnv_of_blocks(pool.free_queue().to_vector())}};
    if (!drafts.empty()) {
      recorded["sp"] = std::move(drafts);
      recorded["acc"] = accepted_drafts(steps_count_);
    }
    steps_.push_back(std::move(recorded));
    ++steps_count_;
    num_preemptions_ += static_cast<std::int64_t>(step.preempted_req_ids.size());
    for (const AdmittedRequest& request : step.new_requests) {
      num_hit_tokens_ += request.num_computed_tokens;
    }
  }

  // How many drafts the table's model accepts in a step: [[id, accepted], …]. An input.
  Json accepted_drafts(std::size_t step_index) const {
    const Json& steps = line_.at("steps");
    if (step_index >= steps.size()) return Json::array();
    return steps.at(step_index).value("acc", Json::array());
  }

  void process_oldest() {
    const SchedulerOutput step = std::move(in_flight_.front());
    in_flight_.pop_front();
    const Json accepted = accepted_drafts(steps_processed_++);
    SampledTokens sampled;
    sampled.start.push_back(0);
    for (const ScheduledTokens& part : step.scheduled) {
      append_sampled(part, accepted, sampled);
      sampled.start.push_back(static_cast<std::int32_t>(sampled.tokens.size()));
    }
    scheduler_.update_from_output(step, sampled);
    if (!scheduler_.config().async_scheduling) scheduler_.update_draft_tokens(step);
  }

  // Output token k of request i is out0 + i · stride + k.
  void append_sampled(const ScheduledTokens& part, const Json& accepted, SampledTokens& sampled) {
    if (part.is_prefill_chunk) return;
    std::int64_t num_accepted = 0;
    for (const Json& pair : accepted) {
      if (pair.at(0).get<RequestId>() == part.id) num_accepted = pair.at(1).get<std::int64_t>();
    }
    const std::int64_t first = line_.at("out0").get<std::int64_t>() +
                               part.id * line_.at("stride").get<std::int64_t>() +
                               part.request->num_output_tokens();
    if (num_accepted < 0 || num_accepted > part.num_draft_tokens) {
      refuse("request {} has {} drafts accepted of {}.", part.id, num_accepted,
             part.num_draft_tokens);
    }
    if (first < 0 || first + num_accepted > std::numeric_limits<TokenId>::max()) {
      refuse("output token {} of request {} is no token; out0 and stride must keep below 2^31.",
             first, part.id);
    }
    for (std::int64_t k = 0; k <= num_accepted; ++k) {
      sampled.tokens.push_back(static_cast<TokenId>(first + k));
    }
  }

  const Json& line_;
  Scheduler scheduler_;
  std::size_t depth_;  // steps on their way before the oldest one's output is taken
  std::deque<SchedulerOutput> in_flight_;
  std::size_t next_arrival_ = 0;
  std::size_t next_event_ = 0;
  std::size_t steps_count_ = 0;
  std::size_t steps_processed_ = 0;
  std::int64_t num_preemptions_ = 0;
  std::int64_t num_hit_tokens_ = 0;
  Json steps_ = Json::array();
};

}  // namespace

Json answer_scheduler(const Json& line) { return EngineLoop(line).run(); }

}  // namespace pagelab
