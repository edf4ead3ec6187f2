// Random operations on managers and schedulers, the invariants looked at after each.

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "simulator/engine/schedule/scheduler.h"
#include "tests/simulator/engine/invariants/invariants.h"

using namespace pagelab;
using test::InvariantCheck;

namespace {

// Uniform numbers, the same on every machine (std::uniform_int_distribution is not).
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint32_t seed) : engine_(seed) {}
  std::int32_t below(std::int32_t bound) { return static_cast<std::int32_t>(engine_() % bound); }
  bool one_in(std::int32_t many) { return below(many) == 0; }

 private:
  std::mt19937 engine_;
};

// Few different tokens and few different prompts, so that prefixes meet often.
std::vector<TokenId> random_prompt(RandomNumbers& random, std::int32_t max_tokens) {
  std::vector<TokenId> tokens(1 + random.below(max_tokens));
  const TokenId family = random.below(3);
  const auto split = static_cast<std::size_t>(random.below(max_tokens));
  for (std::size_t index = 0; index < tokens.size(); ++index) {
    tokens[index] = index < split ? family : random.below(2);
  }
  return tokens;
}

KVCacheConfig random_cache(RandomNumbers& random) {
  KVCacheConfig cache;
  cache.block_size = 1 + random.below(4);
  cache.num_blocks = 6 + random.below(30);
  cache.max_model_len = 24;
  cache.max_in_flight_tokens = 1 + random.below(16);
  cache.enable_caching = !random.one_in(6);
  cache.watermark = random.one_in(3) ? 0.1 : 0.0;
  const std::vector<std::vector<KVCacheGroupSpec>> divisions = {
      {{}},
      {{}},
      {{1 + random.below(12)}},
      {{}, {1 + random.below(12)}},
      {{}, {2 + random.below(8)}, {2 + random.below(8)}},
      {{}, {1 + random.below(12), 1 + random.below(4)}},
      {{{}, 2}, {{}, 3}, {1 + random.below(9), 1}},
      {{3 + random.below(9), 2}, {2 + random.below(8), 4}}};
  cache.groups = divisions[random.below(static_cast<std::int32_t>(divisions.size()))];
  return cache;
}

// Whatever a caller of the manager may do, in any order.
class ManagerOperations {
 public:
  explicit ManagerOperations(std::uint32_t seed)
      : random_(seed), manager_(random_cache(random_)), check_(manager_) {}

  // One operation. Returns the invariant that is broken by it; empty if none is.
  std::string step() {
    std::string wrong = operate();
    if (!wrong.empty()) return wrong;
    holders_.clear();
    for (const auto& [id, request] : requests_) holders_.push_back(&request);
    return check_.broken(holders_);
  }

 private:
  std::string operate() {
    if (requests_.empty() || (requests_.size() < 6 && random_.one_in(5))) return create();
    auto chosen = requests_.begin();
    std::advance(chosen, random_.below(static_cast<std::int32_t>(requests_.size())));
    Request& request = chosen->second;
    const bool holds_nothing = request.groups.empty() || request.groups[0].blocks.empty();
    switch (random_.below(10)) {
      case 0:
        manager_.free(request);
        requests_.erase(chosen);
        return "";
      case 1:
        manager_.free(request);
        request.num_computed_tokens = 0;
        request.status = RequestStatus::kPreempted;
        return "";
      case 2:
        manager_.remove_skipped_blocks(request, request.num_computed_tokens);
        return "";
      case 3:
        return evict_or_reset();
      default:
        return holds_nothing ? admit(request) : go_on(request);
    }
  }

  std::string create() {
    Request request(next_id_++, random_prompt(random_, 20), 8);
    manager_.hash_full_blocks(request);
    requests_.emplace(request.id, std::move(request));
    return "";
  }

  std::string evict_or_reset() {
    if (random_.one_in(8)) {
      manager_.reset_prefix_cache();
    } else {
      manager_.evict_blocks(std::vector<BlockId>{random_.below(manager_.pool().num_blocks())});
    }
    return "";
  }

  std::string admit(Request& request) {
    const PrefixHit hit = manager_.get_computed_blocks(request);
    const std::string wrong = check_.wrong_hit(request, hit);
    if (!wrong.empty()) return wrong;
    SlotsWanted wanted;
    wanted.num_new_tokens = 1 + random_.below(request.num_tokens() - hit.num_tokens);
    wanted.full_sequence_must_fit = random_.one_in(2);
    wanted.has_scheduled_reqs = random_.one_in(2);
    wanted.num_lookahead_tokens = random_.below(3);
    if (manager_.allocate_slots(request, wanted, &hit)) {
      request.status = RequestStatus::kRunning;
      request.num_computed_tokens = hit.num_tokens + wanted.num_new_tokens;
      check_.note_contents(request);
    }
    return "";
  }

  // Computes what is known, or samples tokens, of which some are taken back as rejected drafts.
  std::string go_on(Request& request) {
    const std::int32_t room = manager_.config().max_model_len - request.num_tokens();
    if (request.num_computed_tokens == request.num_tokens() && room > 0) {
      request.tokens.push_back(random_.below(2));
      manager_.hash_full_blocks(request);
    }
    SlotsWanted wanted;
    wanted.num_new_tokens = request.num_tokens() - request.num_computed_tokens;
    wanted.num_new_tokens += random_.below(2);  // a draft
    wanted.num_lookahead_tokens = random_.below(3);
    request.num_in_flight_tokens = random_.below(4);
    if (wanted.num_new_tokens > 0 && manager_.allocate_slots(request, wanted)) {
      request.num_computed_tokens = request.num_tokens();
      check_.note_contents(request);
    }
    return "";
  }

  RandomNumbers random_;
  KVCacheManager manager_;
  InvariantCheck check_;
  std::map<RequestId, Request> requests_;
  std::vector<const Request*> holders_;
  RequestId next_id_ = 0;
};

SchedulerConfig random_schedule(RandomNumbers& random) {
  SchedulerConfig config;
  config.max_num_seqs = 1 + random.below(6);
  config.max_num_batched_tokens = 4 + random.below(24);
  config.enable_chunked_prefill = config.max_num_batched_tokens < 24 || random.one_in(2);
  config.policy = random.one_in(2) ? SchedulingPolicy::kPriority : SchedulingPolicy::kFcfs;
  config.scheduler_reserve_full_isl = random.one_in(2);
  config.long_prefill_token_threshold = random.one_in(3) ? 1 + random.below(8) : 0;
  config.num_speculative_tokens = random.one_in(2) ? random.below(3) : 0;
  config.async_scheduling = random.one_in(2);
  return config;
}

// A loop around a scheduler that arrivals, aborts and resets disturb at any time.
class SchedulerOperations {
 public:
  explicit SchedulerOperations(std::uint32_t seed)
      : random_(seed),
        scheduler_(random_schedule(random_), random_cache(random_)),
        check_(scheduler_.kv_cache_manager()) {}

  std::string step(bool takes_new_requests) {
    const std::size_t depth = scheduler_.config().async_scheduling ? 2 : 1;
    if (takes_new_requests && random_.one_in(4)) {
      add();
    } else if (takes_new_requests && random_.one_in(30)) {
      scheduler_.reset_prefix_cache(random_.one_in(2));
    } else if (takes_new_requests && random_.one_in(30) && !scheduler_.running().empty()) {
      const auto running = static_cast<std::int32_t>(scheduler_.running().size());
      const RequestId id = scheduler_.running()[random_.below(running)]->id;
      scheduler_.abort_request(id);
      num_tokens_left_.erase(id);
    } else if (in_flight_.size() < depth && (scheduler_.has_requests() || in_flight_.empty())) {
      in_flight_.push_back(scheduler_.schedule());
      for (const ScheduledTokens& part : in_flight_.back().scheduled) {
        check_.note_contents(*part.request);
      }
      if (in_flight_.back().total_num_scheduled_tokens >
          scheduler_.config().max_num_batched_tokens) {
        return "a step has more tokens than its budget";
      }
    } else {
      const std::string wrong = process_oldest();
      if (!wrong.empty()) return wrong;
    }
    return check_.broken({scheduler_.running().begin(), scheduler_.running().end()});
  }

  bool is_done() const { return !scheduler_.has_requests() && in_flight_.empty(); }
  std::size_t num_unfinished() const { return num_tokens_left_.size(); }

 private:
  void add() {
    Request request(next_id_, random_prompt(random_, 20), 1 + random_.below(10));
    request.priority = random_.below(3);
    const std::int32_t most = scheduler_.kv_cache_manager().config().max_model_len;
    const std::int32_t num_output = std::min(request.max_tokens, most - request.num_prompt_tokens);
    try {
      scheduler_.add_request(std::move(request));
      num_tokens_left_[next_id_] = num_output;
    } catch (const std::exception&) {
      // The pool is too small for it.
    }
    ++next_id_;
  }

  std::string process_oldest() {
    const SchedulerOutput step = std::move(in_flight_.front());
    in_flight_.pop_front();
    SampledTokens sampled;
    sampled.start.push_back(0);
    for (const ScheduledTokens& part : step.scheduled) {
      const std::int32_t accepted = random_.below(part.num_draft_tokens + 1);
      const std::int32_t num_tokens = part.is_prefill_chunk ? 0 : 1 + accepted;
      for (std::int32_t index = 0; index < num_tokens; ++index) {
        sampled.tokens.push_back(random_.below(2));
      }
      sampled.start.push_back(static_cast<std::int32_t>(sampled.tokens.size()));
    }
    const EngineOutput output = scheduler_.update_from_output(step, sampled);
    if (!scheduler_.config().async_scheduling) scheduler_.update_draft_tokens(step);
    for (const EngineOutput::Part& part : output.parts) {
      const auto left = num_tokens_left_.find(part.id);
      if (left == num_tokens_left_.end()) return "an aborted or finished request has output";
      left->second -= part.num_tokens;
      if (part.is_finished != (left->second == 0)) {
        return "a request does not end with its last token";
      }
      if (part.is_finished) num_tokens_left_.erase(left);
    }
    return "";
  }

  RandomNumbers random_;
  Scheduler scheduler_;
  InvariantCheck check_;
  std::deque<SchedulerOutput> in_flight_;
  std::map<RequestId, std::int32_t>
      num_tokens_left_;  // output that each unfinished request waits for
  RequestId next_id_ = 0;
};

}  // namespace

TEST_SUITE("invariants of the engine") {
  TEST_CASE("pool and tables and keys agree after each of a million operations on managers") {
    for (std::uint32_t seed = 0; seed < 500; ++seed) {
      ManagerOperations operations(seed);
      for (int number = 0; number < 2000; ++number) {
        const std::string broken = operations.step();
        if (broken.empty()) continue;
        FAIL("seed " << seed << ", operation " << number << ": " << broken);
      }
    }
  }

  TEST_CASE("they agree after each of 200000 operations on schedulers and every request ends") {
    int num_operations = 0;
    for (std::uint32_t seed = 0; num_operations < 200000; ++seed) {
      SchedulerOperations operations(seed);
      // After 200 operations nothing new comes. What is there runs to its end, and nobody is forgotten.
      constexpr int kLastArrival = 200, kFarTooMany = 100000;
      for (int number = 0; number < kLastArrival || !operations.is_done(); ++number) {
        ++num_operations;
        const std::string broken = operations.step(/*takes_new_requests=*/number < kLastArrival);
        if (!broken.empty()) FAIL("seed " << seed << ", operation " << number << ": " << broken);
        if (number > kFarTooMany) FAIL("seed " << seed << ": the requests never end");
      }
      CHECK_MESSAGE(operations.num_unfinished() == 0, "seed " << seed);
    }
  }
}
