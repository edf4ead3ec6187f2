#include "simulator/engine/picture/engine_page.h"

#include <nlohmann/json.hpp>

#include "reference/contract/refuse.h"
#include "reference/tensor/atomic_file.h"

namespace pagelab {

// engine_page.html, from engine_page.cpp.in.
extern const char* const kEnginePageHtml;

namespace {

// Where the template wants the run. It stands in a script, so the page is whole without it, too.
constexpr std::string_view kPlaceOfRun = "/*RUN*/null/*RUN*/";

// Within a script, "</script" would end it, even in a string.
std::string in_script(const std::string& text) {
  std::string quoted = nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/true,
                                                 nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = quoted.find('<', at)) != std::string::npos;) {
    quoted.replace(at, 1, "\\u003c");
  }
  return quoted;
}

// [cache groups] tokens of a block, and the window: null where there is none.
nlohmann::ordered_json groups_of(const KVCacheConfig& cache) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const KVCacheGroupSpec& group : cache.groups) {
    nlohmann::ordered_json entry = {{"block_size", block_size_of(cache, group)},
                                    {"window", nullptr}};
    if (group.sliding_window) entry["window"] = *group.sliding_window;
    list.push_back(entry);
  }
  return list;
}

}  // namespace

void write_engine_page(const EnginePage& page,
                       const StepRecorder& recorder,
                       const std::filesystem::path& path) {
  if (recorder.num_recorded() == 0) {
    refuse("the page would be empty: the run ended after step {}.", page.num_steps);
  }
  const std::string_view html = kEnginePageHtml;
  const std::size_t place = html.find(kPlaceOfRun);
  AtomicFile file(path);
  file.write(html.substr(0, place));
  file.write(
      fmt::format("{{\"title\":{},\"summary\":{},\"num_blocks\":{},\"groups\":{},\"num_steps\":{},"
                  "\"steps\":",
                  in_script(page.title), in_script(page.summary), page.cache.num_blocks,
                  groups_of(page.cache).dump(), page.num_steps));
  file.write(recorder.json());
  file.write("}");
  file.write(html.substr(place + kPlaceOfRun.size()));
  file.commit();
}

}  // namespace pagelab
