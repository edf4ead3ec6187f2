#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "reference/contract/error.h"
#include "simulator/engine/picture/engine_page.h"
#include "simulator/engine/picture/perfetto_file.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using Json = nlohmann::json;

namespace {

// Four requests in a pool of 8 blocks of 4 tokens; the first two begin alike. They share, wait and are preempted.
RequestTrace crowded_trace() {
  RequestTrace trace;
  trace.name = "crowded";
  trace.num_blocks = 2;
  const auto add = [&trace](double arrival_us, std::int32_t prompt, std::int32_t output,
                            std::int32_t block) {
    trace.requests.push_back({.arrival_us = arrival_us,
                              .num_prompt_tokens = prompt,
                              .num_output_tokens = output,
                              .blocks = {block},
                              .line = static_cast<std::int64_t>(trace.requests.size()) + 1});
  };
  add(0, 9, 12, 0);
  add(2000, 10, 9, 0);
  add(3000, 6, 9, 1);
  add(60000, 12, 3, 0);  // when nothing runs any more
  return trace;
}

ServingSettings crowded_settings() {
  ServingSettings settings;
  settings.cache.block_size = 4;
  settings.cache.num_blocks = 9;
  settings.cache.max_model_len = 100;
  settings.worker.capture_sizes = {1, 2, 4, 8, 16};
  settings.step_us = 1000;
  return settings;
}

// A model with full attention in some layers, and in others a window of 4 keys, in blocks of 2: a group each.
ServingSettings hybrid_settings() {
  ServingSettings settings = crowded_settings();
  settings.cache.num_blocks = 17;
  settings.cache.groups = {{}, {.sliding_window = 4, .block_size = 2}};
  return settings;
}

Json records_of(StepRecorder& recorder,
                ServedTrace* served = nullptr,
                const ServingSettings& settings = crowded_settings()) {
  const ServedTrace result = serve_trace(
      crowded_trace(), settings, [&recorder](const StepView& view) { recorder.record(view); });
  if (served != nullptr) *served = result;
  return Json::parse(recorder.json());
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What the page knows after some records: it applies them one after another, as its script does.
struct PageState {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>>
      tables;  // request, cache group
  std::map<std::int64_t, std::int64_t> refs;

  std::vector<std::int64_t>& table_of(const Json& change) {
    return tables[{change[0].get<std::int64_t>(), change[1].get<std::int64_t>()}];
  }

  void apply(const Json& step) {
    for (const char* gone : {"v", "x"}) {
      for (const Json& id : step.at(gone)) {
        std::erase_if(tables, [&id](const auto& table) { return table.first.first == id; });
      }
    }
    for (const Json& growth : step.at("k")) {
      std::vector<std::int64_t>& table = table_of(growth);
      REQUIRE(growth[2].get<std::size_t>() == table.size());
      for (const Json& block : growth[3]) table.push_back(block.get<std::int64_t>());
    }
    for (const Json& move : step.at("d")) {
      std::fill_n(table_of(move).begin(), move[2].get<std::size_t>(), kNullBlock);
    }
    for (const Json& block : step.at("b")) {
      refs[block[0].get<std::int64_t>()] = block[2].get<std::int64_t>();
    }
  }
};

}  // namespace

TEST_SUITE("engine pictures") {
  TEST_CASE("the first step of a page holds the batch and its slots") {
    StepRecorder recorder(1, 1);
    const Json step = records_of(recorder).at(0);
    CHECK(recorder.num_recorded() == 1);
    // 9 tokens go to blocks 1 to 3: slots 4 to 12. The graph of 16 tokens has 7 more.
    CHECK(step.at("r") == Json::parse("[[0,0,9,9,0,1]]"));
    CHECK(step.at("s") == Json::parse("[[[4,9],[-1,7]]]"));
    CHECK(step.at("k") == Json::parse("[[0,0,0,[1,2,3]]]"));
    // Blocks 1 and 2 are full, so they have a key.
    CHECK(step.at("b") == Json::parse("[[1,0,1,1,0],[2,0,1,1,0],[3,0,1,0,0]]"));
    CHECK(step.at("g") == "PIECEWISE");
    CHECK(step.at("u") == 3);
  }

  TEST_CASE("references on the page are those that its block tables count") {
    ServingSettings settings = crowded_settings();
    SUBCASE("one step after another") {}
    SUBCASE("asynchronously") { settings.scheduler.async_scheduling = true; }
    SUBCASE("with full attention and a window") { settings = hybrid_settings(); }
    StepRecorder recorder(1, 1000);
    ServedTrace served;
    const Json records = records_of(recorder, &served, settings);
    REQUIRE(records.size() == served.steps.size());
    PageState page;
    std::size_t most_sharers = 0, num_preempted = 0;
    for (const Json& step : records) {
      page.apply(step);
      std::map<std::int64_t, std::int64_t> counted;
      for (const auto& [id, table] : page.tables) {
        for (const std::int64_t block : table) counted[block] += block == kNullBlock ? 0 : 1;
      }
      std::int64_t num_used = 0;
      for (const auto& [block, refs] : page.refs) {
        CHECK(refs == counted[block]);
        num_used += refs > 0 ? 1 : 0;
        most_sharers = std::max<std::size_t>(most_sharers, static_cast<std::size_t>(refs));
      }
      CHECK(num_used == step.at("u").get<std::int64_t>());
      num_preempted += step.at("v").size();
    }
    // The trace does what it is for.
    CHECK(most_sharers >= 2);
    CHECK(num_preempted >= 1);
  }

  TEST_CASE("a page has the block table and the slots of every cache group") {
    StepRecorder recorder(1, 2);
    const Json records = records_of(recorder, nullptr, hybrid_settings());
    // 9 tokens: blocks 1 to 3 of 4, then 4 to 8 of 2. Slots 4 to 12; 8 to 16.
    CHECK(records[0].at("k") == Json::parse("[[0,0,0,[1,2,3]],[0,1,0,[4,5,6,7,8]]]"));
    CHECK(records[0].at("s") == Json::parse("[[[4,9],[-1,7]],[[8,9],[-1,7]]]"));
    CHECK(records[0].at("d") == Json::array());
    CHECK(records[0].at("b")[3] == Json::parse("[4,0,1,1,1]"));
    // The query at position 9 sees positions 6 to 9: what lies before, 6 tokens in 3 blocks, is dropped.
    CHECK(records[1].at("d") == Json::parse("[[0,1,3]]"));
    CHECK(records[1].at("b")[0] == Json::parse("[4,0,0,1,1]"));
  }

  TEST_CASE("a page that begins in the middle knows the whole pool") {
    StepRecorder all(1, 1000), tail(8, 2);
    const Json whole = records_of(all);
    const Json part = records_of(tail);
    REQUIRE(part.size() == 2);
    CHECK(part[0].at("n") == 8);
    PageState from_start, from_middle;
    for (std::size_t index = 0; index < 9; ++index) from_start.apply(whole[index]);
    for (const Json& step : part) from_middle.apply(step);
    CHECK(from_middle.tables == from_start.tables);
    std::erase_if(from_start.refs, [](const auto& block) { return block.second == 0; });
    std::erase_if(from_middle.refs, [](const auto& block) { return block.second == 0; });
    CHECK(from_middle.refs == from_start.refs);
  }

  TEST_CASE("a page is one file without the network and its title cannot end its script") {
    const test::ScratchFolder folder;
    const std::filesystem::path path = folder.path() / "page.html";
    StepRecorder recorder(1, 4);
    records_of(recorder);
    write_engine_page({"</script>\"", "in a line", hybrid_settings().cache, 20}, recorder, path);
    const std::string page = text_of(path);
    CHECK(page.find("/*RUN*/") == std::string::npos);
    CHECK(page.find("http:") == std::string::npos);
    CHECK(page.find("https:") == std::string::npos);
    CHECK(page.find("src=") == std::string::npos);
    CHECK(page.find(R"("title":"\u003c/script>\"")") != std::string::npos);
    CHECK(page.find(R"("title":"</script>)") == std::string::npos);
    CHECK(page.find("href=") == std::string::npos);
    CHECK(page.find(R"("groups":[{"block_size":4,"window":null},{"block_size":2,"window":4}])") !=
          std::string::npos);
  }

  TEST_CASE("a page without a step or of impossible steps is refused") {
    const test::ScratchFolder folder;
    StepRecorder late(1000000, 1);
    records_of(late);
    CHECK_THROWS_WITH_AS(write_engine_page({"title", "summary", crowded_settings().cache, 20}, late,
                                           folder.path() / "page.html"),
                         doctest::Contains("ended after step 20"), Error);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "page.html"));
    CHECK_THROWS_AS(StepRecorder(0, 1), Error);
    CHECK_THROWS_AS(StepRecorder(1, 0), Error);
  }

  TEST_CASE("a Chrome trace has three slices a step and three parts a request") {
    const test::ScratchFolder folder;
    const std::filesystem::path path = folder.path() / "trace.json";
    const ServedTrace served = serve_trace(crowded_trace(), crowded_settings());
    write_perfetto_file(served, path);
    const Json events = Json::parse(text_of(path)).at("traceEvents");
    std::map<std::string, std::size_t> num_of;
    double last_gpu_end_us = 0;
    for (const Json& event : events) {
      ++num_of[event.at("ph").get<std::string>()];
      if (event.at("ph") == "X" && event.at("tid") == 2) {
        CHECK(event.at("dur") == 1000);
        last_gpu_end_us = event.at("ts").get<double>() + event.at("dur").get<double>();
      }
    }
    CHECK(num_of["X"] == 3 * served.steps.size());
    CHECK(num_of["C"] == 4 * served.steps.size());
    CHECK(num_of["b"] == 3 * served.requests.size());
    CHECK(num_of["e"] == num_of["b"]);
    CHECK(last_gpu_end_us == served.steps.back().times.gpu_end_us);
  }
}
