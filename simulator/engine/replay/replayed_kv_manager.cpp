// Golden tables `kv_manager` and `kv_manager_hybrid`: a script of operations on one manager, and what
// each returned.

#include <map>

#include "reference/contract/refuse.h"
#include "simulator/engine/cache/kv_cache_manager.h"
#include "simulator/engine/replay/engine_json.h"
#include "simulator/engine/replay/engine_tables.h"

namespace pagelab {
namespace {

using Json = nlohmann::ordered_json;

KVCacheConfig cache_config_of(const Json& cfg) {
  KVCacheConfig config;
  config.block_size = number_field(cfg, "block_size");
  config.num_blocks = number_field(cfg, "num_blocks");
  config.max_model_len = number_field(cfg, "max_model_len");
  config.max_in_flight_tokens = number_field(cfg, "max_in_flight_tokens");
  config.enable_caching = cfg.at("caching").get<bool>();
  config.watermark = cfg.at("watermark").get<double>();
  config.groups = groups_of_json(cfg.at("groups"));
  return config;
}

// One manager, the requests that a script has made, and the words of a script.
class KVManagerScript {
 public:
  explicit KVManagerScript(const Json& cfg) : manager_(cache_config_of(cfg)) {}

  // The result of one operation.
  Json run(const Json& operation) {
    const auto op = operation.at("op").get<std::string>();
    Json result = run_word(op, operation);
    const BlockPool& pool = manager_.pool();
    result["free"] = pool.num_free_blocks();
    result["ck"] = pool.num_cached_keys();
    result["qh"] = fnv_of_blocks(pool.free_queue().to_vector());
    return result;
  }

 private:
  Json run_word(const std::string& op, const Json& operation) {
    if (op == "queue") return {{"ids", manager_.pool().free_queue().to_vector()}};
    if (op == "reset") return {{"ok", manager_.reset_prefix_cache() ? 1 : 0}};
    if (op == "evict") {
      manager_.evict_blocks(operation.at("ids").get<std::vector<BlockId>>());
      return Json::object();
    }
    const auto id = operation.at("r").get<RequestId>();
    if (op == "new") return make_request(id, operation);
    Request& request = find(id);
    if (op == "append") return append(request, operation);
    if (op == "hit") return hit(request);
    if (op == "alloc") return alloc(request, operation);
    if (op == "free" || op == "preempt") return give_back(request, op == "preempt");
    if (op == "table") return {{"ids", tables_json(request)}};
    if (op == "common") return {{"n", manager_.get_num_common_prefix_blocks(request)}};
    const auto n = number_field(operation, "n");
    if (op == "rollback") {
      if (n < 0 || n > request.num_computed_tokens) {
        refuse("rollback takes {} tokens from request {}, which has {} computed.", n, request.id,
               request.num_computed_tokens);
      }
      request.num_computed_tokens -= n;
    } else if (op == "cache") {
      manager_.cache_blocks(request, n);
    } else if (op == "skip") {
      manager_.remove_skipped_blocks(request, n);
    } else {
      refuse(
          "op is {}; it may be one of: new, append, hit, alloc, rollback, free, preempt, table, "
          "common, cache, skip, evict, reset, queue.",
          op);
    }
    return Json::object();
  }

  Request& find(RequestId id) {
    const auto found = requests_.find(id);
    if (found == requests_.end()) refuse("there is no request {}.", id);
    return found->second;
  }

  Json make_request(RequestId id, const Json& operation) {
    // The script says when a request ends, so its own limit never does.
    Request request(id, tokens_of_runs(operation.at("tok")), manager_.config().max_model_len);
    request.groups.resize(manager_.config().groups.size());
    Request& made = requests_.insert_or_assign(id, std::move(request)).first->second;
    manager_.hash_full_blocks(made);
    return {{"full", made.block_hashes.size()}};
  }

  Json append(Request& request, const Json& operation) {
    const std::vector<TokenId> tokens = tokens_of_runs(operation.at("tok"));
    request.tokens.insert(request.tokens.end(), tokens.begin(), tokens.end());
    manager_.hash_full_blocks(request);
    return {{"full", request.block_hashes.size()}};
  }

  Json hit(const Request& request) {
    hit_ = manager_.get_computed_blocks(request);
    hit_request_ = request.id;
    return {{"n", hit_.num_tokens}, {"ids", hit_.blocks}};
  }

  Json alloc(Request& request, const Json& operation) {
    SlotsWanted wanted;
    wanted.num_new_tokens = number_field(operation, "n");
    wanted.num_lookahead_tokens = number_field(operation, "la", 0);
    wanted.full_sequence_must_fit = number_field(operation, "fit", 0) == 1;
    wanted.num_reserved_blocks = number_field(operation, "resv", 0);
    wanted.has_scheduled_reqs = number_field(operation, "busy", 1) == 1;
    const bool adopts = number_field(operation, "hit", 0) == 1;
    if (adopts && hit_request_ != request.id) {
      refuse("request {} adopts a hit, but the last one was that of {}.", request.id, hit_request_);
    }
    request.num_in_flight_tokens = number_field(operation, "inflight", 0);
    const std::optional<std::int32_t> num_new =
        manager_.allocate_slots(request, wanted, adopts ? &hit_ : nullptr);
    request.num_in_flight_tokens = 0;
    if (!num_new) return {{"ok", 0}};
    const GroupBlocks& group = request.groups[0];
    const std::size_t first_new = group.blocks.size() - group.num_new_blocks;
    request.num_computed_tokens += (adopts ? hit_.num_tokens : 0) + wanted.num_new_tokens;
    request.status = RequestStatus::kRunning;
    return {
        {"ok", 1}, {"ids", tables_json(request, first_new)}, {"nc", request.num_computed_tokens}};
  }

  Json give_back(Request& request, bool comes_back) {
    manager_.free(request);
    request.num_computed_tokens = 0;
    request.status = RequestStatus::kPreempted;
    if (!comes_back) requests_.erase(request.id);
    return Json::object();
  }

  KVCacheManager manager_;
  std::map<RequestId, Request> requests_;
  PrefixHit hit_;  // of the last operation "hit"
  RequestId hit_request_ = -1;
};

}  // namespace

Json answer_kv_manager(const Json& line) {
  KVManagerScript script(line.at("cfg"));
  Json ops = Json::array();
  for (const Json& step : line.at("ops")) {
    ops.push_back(Json::array({step.at(0), script.run(step.at(0))}));
  }
  return {{"ops", std::move(ops)}};
}

}  // namespace pagelab
