#include "simulator/engine/schedule/scheduler.h"

#include <doctest/doctest.h>

#include <numeric>

#include "reference/contract/error.h"

using namespace pagelab;

namespace {

using Blocks = std::vector<BlockId>;
using Ids = std::vector<RequestId>;

KVCacheConfig cache_of(std::int32_t block_size,
                       std::int32_t num_usable_blocks,
                       std::int32_t max_model_len = 256) {
  KVCacheConfig cache;
  cache.block_size = block_size;
  cache.num_blocks = num_usable_blocks + 1;  // the null block
  cache.max_model_len = max_model_len;
  return cache;
}

// Prompts of different requests share nothing.
Request prompt_of(RequestId id, std::int32_t num_tokens, std::int32_t max_tokens) {
  std::vector<TokenId> tokens(num_tokens);
  std::iota(tokens.begin(), tokens.end(), static_cast<TokenId>(1000 * id));
  return Request(id, std::move(tokens), max_tokens);
}

// One token for each request that is no prefill chunk; all drafts are rejected.
EngineOutput sample_and_update(Scheduler& scheduler, const SchedulerOutput& step) {
  SampledTokens sampled;
  sampled.start.push_back(0);
  for (const ScheduledTokens& part : step.scheduled) {
    if (!part.is_prefill_chunk) sampled.tokens.push_back(900000);
    sampled.start.push_back(static_cast<std::int32_t>(sampled.tokens.size()));
  }
  return scheduler.update_from_output(step, sampled);
}

SchedulerOutput run_step(Scheduler& scheduler) {
  SchedulerOutput step = scheduler.schedule();
  sample_and_update(scheduler, step);
  return step;
}

}  // namespace

TEST_SUITE("the scheduler") {
  TEST_CASE("E7: what can never fit is refused at once with the numbers and others run") {
    Scheduler scheduler({}, cache_of(16, 4));
    // 100 tokens fill 6.25 blocks.
    CHECK_THROWS_WITH_AS(scheduler.add_request(prompt_of(0, 100, 1)),
                         "request 0 can never run: its 100 tokens need 7 blocks of 16, but 4 exist "
                         "(num_blocks 5, the null block included).",
                         Error);
    scheduler.add_request(prompt_of(1, 10, 2));
    CHECK(run_step(scheduler).scheduled[0].id == 1);
    CHECK(run_step(scheduler).scheduled[0].num_tokens == 1);
    CHECK(run_step(scheduler).finished_req_ids == Ids{1});
    CHECK_FALSE(scheduler.has_requests());
  }

  TEST_CASE("E7: output counts, too, but for its last token") {
    Scheduler scheduler({}, cache_of(16, 4));
    CHECK_THROWS_AS(scheduler.add_request(prompt_of(0, 10, 56)), Error);  // 65 tokens
    scheduler.add_request(prompt_of(0, 10, 55));                          // 64 tokens
    std::int32_t num_steps = 0;
    for (; scheduler.has_requests(); ++num_steps) run_step(scheduler);
    CHECK(num_steps == 56);  // 55 tokens, and the news of its end
  }

  TEST_CASE("E9: a chunk sees the tokens before it and its own") {
    SchedulerConfig config;
    config.max_num_batched_tokens = 4;
    Scheduler scheduler(config, cache_of(4, 8));
    scheduler.add_request(prompt_of(0, 10, 1));
    for (const std::int32_t key_length : {4, 8, 10}) {
      const SchedulerOutput step = run_step(scheduler);
      const ScheduledTokens& chunk = step.scheduled.at(0);
      CHECK(chunk.num_computed_tokens + chunk.num_tokens == key_length);
      CHECK(chunk.is_prefill_chunk == (key_length < 10));
    }
  }

  TEST_CASE("E10: a resumed request's blocks replace those that it had") {
    KVCacheConfig cache = cache_of(4, 5);
    cache.enable_caching = false;
    Scheduler scheduler({}, cache);
    scheduler.add_request(prompt_of(0, 8, 5));
    scheduler.add_request(prompt_of(1, 8, 5));
    SchedulerOutput step = run_step(scheduler);
    CHECK(step.new_requests.at(0).block_ids[0] == Blocks{1, 2});
    CHECK(step.new_requests.at(1).block_ids[0] == Blocks{3, 4});
    // Both need a third block and one is left: request 1, the last, loses its own.
    step = run_step(scheduler);
    CHECK(step.scheduled.size() == 1);
    CHECK(step.new_blocks.at(0).block_ids[0] == Blocks{5});
    CHECK(step.preempted_req_ids == Ids{1});
    CHECK(to_string(step) == "1 tokens: 0: 1 from 8; grown 0 [5]; preempted 1");
    CHECK(to_string(*scheduler.running()[0]) ==
          "request 0, running: 9 of 10 tokens computed, 8 of them prompt; blocks [1 2 5]");
    while (step.resumed_requests.empty()) step = run_step(scheduler);
    const AdmittedRequest& resumed = step.resumed_requests[0];
    CHECK(resumed.id == 1);
    CHECK(resumed.num_computed_tokens == 0);
    CHECK(step.scheduled.at(0).num_tokens == 9);  // its prompt and the token that it had sampled
    // All that it has, in full: whoever keeps tables overwrites its row.
    CHECK(resumed.block_ids[0].size() == 3);
    CHECK(resumed.block_ids[0] == scheduler.running()[0]->groups[0].blocks);
    CHECK(step.new_blocks.empty());
  }

  TEST_CASE("with priorities the least urgent goes even if it was scheduled in this step") {
    SchedulerConfig config;
    config.policy = SchedulingPolicy::kPriority;
    KVCacheConfig cache = cache_of(4, 5);
    cache.enable_caching = false;
    Scheduler scheduler(config, cache);
    scheduler.add_request(prompt_of(0, 8, 5));
    scheduler.add_request(prompt_of(1, 8, 5));
    run_step(scheduler);
    // Request 0 is admitted first but becomes the least urgent. It gets the last block, and loses it.
    scheduler.running()[0]->priority = 7;
    const SchedulerOutput step = run_step(scheduler);
    CHECK(step.preempted_req_ids == Ids{0});
    CHECK(step.scheduled.size() == 1);
    CHECK(step.scheduled[0].id == 1);
    CHECK(step.total_num_scheduled_tokens == 1);
    CHECK(step.new_blocks.size() == 1);
    CHECK(step.new_blocks[0].id == 1);
  }

  TEST_CASE("output that was scheduled before a reset is dropped when it arrives") {
    SchedulerConfig config;
    config.async_scheduling = true;
    Scheduler scheduler(config, cache_of(4, 8));
    scheduler.add_request(prompt_of(0, 8, 3));
    const SchedulerOutput before = scheduler.schedule();
    CHECK(scheduler.reset_prefix_cache(/*reset_running_requests=*/true));
    const SchedulerOutput after = scheduler.schedule();
    CHECK(after.preempted_req_ids == Ids{0});
    CHECK(after.resumed_requests.at(0).num_computed_tokens == 0);
    CHECK(sample_and_update(scheduler, before).parts.empty());
    CHECK(scheduler.running()[0]->num_output_tokens() == 0);
    CHECK(sample_and_update(scheduler, after).parts.size() == 1);
    CHECK(scheduler.running()[0]->num_output_tokens() == 1);
  }

  TEST_CASE("the late token of a preempted request is kept and may end it") {
    SchedulerConfig config;
    config.async_scheduling = true;
    KVCacheConfig cache = cache_of(4, 5);
    cache.enable_caching = false;
    Scheduler scheduler(config, cache);
    scheduler.add_request(prompt_of(0, 8, 5));
    scheduler.add_request(prompt_of(1, 8, 2));
    sample_and_update(scheduler, scheduler.schedule());
    // Both decode at position 8; request 1 gets no block and goes, with nothing on its way.
    const SchedulerOutput first = scheduler.schedule();
    CHECK(first.preempted_req_ids == Ids{1});
    sample_and_update(scheduler, first);
    CHECK(scheduler.num_waiting() == 1);
    while (scheduler.is_unfinished(0)) run_step(scheduler);
    const SchedulerOutput resumed = scheduler.schedule();
    CHECK(resumed.resumed_requests.size() == 1);
    // Its last token is on its way, and it is certain to finish: it is not scheduled again.
    CHECK(scheduler.schedule().scheduled.empty());
    const EngineOutput output = sample_and_update(scheduler, resumed);
    CHECK(output.parts.at(0).is_finished);
    CHECK_FALSE(scheduler.is_unfinished(1));
  }

  TEST_CASE("a preempted request does not start over before its late output is in") {
    SchedulerConfig config;
    config.async_scheduling = true;
    KVCacheConfig cache = cache_of(4, 5);
    cache.enable_caching = false;
    Scheduler scheduler(config, cache);
    scheduler.add_request(prompt_of(0, 8, 5));
    scheduler.add_request(prompt_of(1, 8, 5));
    // A loop that runs three steps ahead.
    const SchedulerOutput prompts = scheduler.schedule();
    CHECK(scheduler.schedule().preempted_req_ids == Ids{1});
    scheduler.abort_request(0);  // all blocks are free
    CHECK(scheduler.schedule().scheduled.empty());
    CHECK(scheduler.num_waiting() == 1);
    CHECK(sample_and_update(scheduler, prompts).parts.at(0).id == 1);
    // Now it does, with its prompt and the late token.
    CHECK(scheduler.schedule().scheduled.at(0).num_tokens == 9);
  }

  TEST_CASE("a victim that was passed over in this step makes nobody miss its turn") {
    SchedulerConfig config;
    config.async_scheduling = true;
    config.policy = SchedulingPolicy::kPriority;
    KVCacheConfig cache = cache_of(4, 8);
    cache.enable_caching = false;
    Scheduler scheduler(config, cache);
    scheduler.add_request(prompt_of(0, 8, 1));  // certain to finish after its prompt
    scheduler.add_request(prompt_of(1, 8, 5));
    scheduler.add_request(prompt_of(2, 8, 5));
    CHECK(scheduler.schedule().scheduled.size() == 3);
    scheduler.running()[0]->priority = 7;
    // Two blocks are left, and both others need one: nobody has to go.
    const SchedulerOutput step = scheduler.schedule();
    CHECK(step.preempted_req_ids.empty());
    CHECK(step.scheduled.size() == 2);
    // One block less, and request 0 goes, which was passed over; 1 and 2 run all the same.
    cache.num_blocks -= 2;
    Scheduler tight(config, cache);
    for (RequestId id = 0; id < 3; ++id) tight.add_request(prompt_of(id, 8, id == 0 ? 1 : 5));
    CHECK(tight.schedule().scheduled.size() == 3);
    tight.running()[0]->priority = 7;
    const SchedulerOutput crowded = tight.schedule();
    CHECK(crowded.preempted_req_ids == Ids{0});
    CHECK(crowded.scheduled.size() == 2);
  }

  TEST_CASE("an abort frees the blocks at once and its output is ignored") {
    SchedulerConfig config;
    config.async_scheduling = true;
    Scheduler scheduler(config, cache_of(4, 8));
    scheduler.add_request(prompt_of(0, 8, 3));
    scheduler.add_request(prompt_of(1, 8, 3));
    const SchedulerOutput step = scheduler.schedule();
    scheduler.abort_request(0);
    CHECK(scheduler.kv_cache_manager().pool().num_free_blocks() == 6);
    const EngineOutput output = sample_and_update(scheduler, step);
    CHECK(output.parts.size() == 1);
    CHECK(output.parts[0].id == 1);
    CHECK(scheduler.schedule().finished_req_ids == Ids{0});
    CHECK_THROWS_WITH_AS(scheduler.abort_request(0),
                         "there is no request 0 to abort. Has it finished already?", Error);
    CHECK_THROWS_WITH_AS(scheduler.abort_request(17),
                         "there is no request 17 to abort. Has it finished already?", Error);
    CHECK(scheduler.is_unfinished(1));
  }

  TEST_CASE("a stop token ends a request and what was sampled behind it is dropped") {
    SchedulerConfig config;
    config.num_speculative_tokens = 2;
    Scheduler scheduler(config, cache_of(4, 8));
    Request request = prompt_of(0, 4, 10);
    request.stop_token_ids = {3, 7};  // 3 is in the prompt, where it stops nothing
    scheduler.add_request(std::move(request));
    SchedulerOutput step = scheduler.schedule();
    scheduler.update_from_output(step, {{5}, {0, 1}});
    scheduler.update_draft_tokens(step);
    step = scheduler.schedule();
    CHECK(step.scheduled.at(0).num_draft_tokens == 2);
    const EngineOutput output = scheduler.update_from_output(step, {{6, 7, 8}, {0, 3}});
    CHECK(output.tokens == std::vector<TokenId>{6, 7});
    CHECK(output.parts.at(0).is_finished);
    CHECK_FALSE(scheduler.is_unfinished(0));
  }

  TEST_CASE("a request that cannot be taken is refused and nothing is lost") {
    Scheduler scheduler({}, cache_of(16, 64, 32));
    scheduler.add_request(prompt_of(0, 8, 3));
    CHECK_THROWS_WITH_AS(scheduler.add_request(prompt_of(0, 8, 3)),
                         "request 0 exists already; give each request a number of its own.", Error);
    CHECK_THROWS_WITH_AS(scheduler.add_request(prompt_of(1, 32, 3)),
                         "request 1 has a prompt of 32 tokens; max_model_len 32 leaves no room for "
                         "output.",
                         Error);
    CHECK(scheduler.num_waiting() == 1);
    const SchedulerOutput step = scheduler.schedule();
    CHECK_THROWS_WITH_AS(
        scheduler.update_from_output(step, {{}, {0}}),
        "start has 1 entries and must have 2, from 0 to the 0 tokens: one for each "
        "scheduled request, and the end.",
        Error);
    CHECK_THROWS_WITH_AS(scheduler.update_from_output(step, {{5, 6}, {0, 2}}),
                         "request 0 has 2 sampled tokens; with 0 drafts it may have 0 to 1.",
                         Error);
    CHECK(sample_and_update(scheduler, step).parts.size() == 1);
  }

  TEST_CASE("settings that contradict each other are refused in one sentence") {
    const auto refused = [](const auto& change, const char* sentence) {
      SchedulerConfig config;
      change(config);
      CHECK_THROWS_WITH_AS(Scheduler(config, cache_of(16, 64, 16384)), sentence, Error);
    };
    refused([](SchedulerConfig& config) { config.max_num_seqs = 0; },
            "max_num_seqs is 0; it must be at least 1.");
    refused([](SchedulerConfig& config) { config.max_num_active_seqs = 257; },
            "max_num_active_seqs is 257, but max_num_seqs is 256; it may not be more.");
    refused([](SchedulerConfig& config) { config.max_num_scheduled_tokens = 0; },
            "max_num_scheduled_tokens is 0; it must be at least 1.");
    refused([](SchedulerConfig& config) { config.enable_chunked_prefill = false; },
            "max_num_batched_tokens is 8192, and without enable_chunked_prefill a prompt of up to "
            "max_model_len 16384 tokens would never fit a step.");
    refused([](SchedulerConfig& config) { config.num_speculative_tokens = 8192; },
            "num_speculative_tokens is 8192, and a step with them does not fit the 8192 tokens of "
            "max_num_batched_tokens.");
  }
}
