// pagelab backends as a user meets it.

#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/cli/refusal.h"
#include "tests/support/environment.h"
#include "tests/support/run_command.h"

using namespace pagelab;
using test::check_refusal;
using test::run_pagelab;

TEST_SUITE("pagelab backends") {
  TEST_CASE("the tables come as text and as Markdown and one backend is explained") {
    const std::string text = run_pagelab("backends").output;
    CHECK(text.find("Ordinary layers\n  Backend") == 0);
    CHECK(text.find("State space\n") != std::string::npos);
    const std::string markdown = run_pagelab("backends --markdown").output;
    CHECK(markdown.find("| FLASH_ATTN | FA3* | fp16, bf16 |") != std::string::npos);
    CHECK(markdown.find("✅") != std::string::npos);
    const std::string priorities = run_pagelab("backends --priorities").output;
    CHECK(priorities.find("  1         FLASHINFER\n") != std::string::npos);
    const std::string explained = run_pagelab("backends FLASHMLA --gpu h100").output;
    CHECK(explained.find("  an open block size is     64\n") != std::string::npos);
    CHECK(run_pagelab("backends FLASH_ATTN --gpu 6.0")
              .output.find("on 6.0: not supported (compute capability not supported)\n") !=
          std::string::npos);
    CHECK(run_pagelab("backends TORCH_SDPA").output.find("none: it must be registered") !=
          std::string::npos);
  }

  TEST_CASE("what pagelab implements stands beside what vLLM's own backend takes") {
    const std::string text = run_pagelab("backends").output;
    CHECK(text.find("\npagelab's own\n  Backend") != std::string::npos);
    const std::string both = run_pagelab("backends FLASH_ATTN").output;
    CHECK(both.find("  dtypes                    fp16, bf16\n") != std::string::npos);
    CHECK(both.find("pagelab's own FLASH_ATTN: ") != std::string::npos);
    CHECK(both.find("  dtypes                    fp16, bf16, fp32, fp64\n") != std::string::npos);
    CHECK(run_pagelab("backends NAIVE").output.find("pagelab's own NAIVE: ") == 0);
    CHECK(run_pagelab("backends TURBOQUANT").output.find("pagelab does not implement it.\n") !=
          std::string::npos);
  }

  TEST_CASE("the page in docs is what the program prints") {
    std::ifstream file(test::source_dir() / "docs" / "backends.html", std::ios::binary);
    const std::string page = {std::istreambuf_iterator<char>(file), {}};
    CHECK(!page.empty());
    const bool is_up_to_date = page == test::standard_output_of_pagelab("backends --html");
    CHECK_MESSAGE(is_up_to_date,
                  "bring it up to date: ./pagelab backends --html > docs/backends.html");
  }

  TEST_CASE("the page loads nothing and its answers are those of select") {
    const std::string page = test::standard_output_of_pagelab("backends --html");
    CHECK(page.find("<td>yes</td>") != std::string::npos);
    for (const char* way_out : {"src=", "href=", "@import", "url(", "fetch(", "http:", "https:"}) {
      CHECK_MESSAGE(page.find(way_out) == std::string::npos, way_out);
    }
    const std::string start = "id=\"choices\">";
    const std::size_t begin = page.find(start) + start.size();
    const auto data =
        nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
    CHECK(data["gpus"].size() >= 20);
    CHECK(data["models"].size() >= 20);
    const std::vector<std::array<std::string, 3>> questions = {{"h100", "llama-3-8b", "auto"},
                                                               {"b200", "llama-3-8b", "auto"},
                                                               {"l4", "llama-3-8b", "fp8_e5m2"},
                                                               {"a100", "gpt-oss-20b", "auto"},
                                                               {"h200", "deepseek-v3", "fp8"}};
    for (const auto& [gpu, model, kv_cache_dtype] : questions) {
      const auto selected = nlohmann::json::parse(
          test::standard_output_of_pagelab("select --json --gpu " + gpu + " --model " + model +
                                           " --kv-cache-dtype " + kv_cache_dtype));
      const std::string capability = data["gpus"][gpu];
      const auto indices = data["choices"][capability][model][kv_cache_dtype];
      REQUIRE(indices.size() == selected["layers"].size());
      for (std::size_t layer = 0; layer < indices.size(); ++layer) {
        const auto answer = data["answers"][indices[layer].get<std::size_t>()];
        for (const char* field : {"kind", "selected", "candidates", "invalid"}) {
          CHECK(answer[field] == selected["layers"][layer][field]);
        }
      }
    }
  }

  TEST_CASE("a misspelt name is answered with every name once") {
    const std::string refusal = run_pagelab("backends CUSTON").output;
    CHECK(refusal.find("CUSTOM, MAMBA1") != std::string::npos);
    CHECK(refusal.find(" CUSTOM,") == refusal.rfind(" CUSTOM,"));
    CHECK(refusal.find("did you mean CUSTOM?") != std::string::npos);
  }

  TEST_CASE("a name that is no backend and options that do not go together are refused") {
    check_refusal("backends FLASH_ATN", "did you mean FLASH_ATTN?");
    check_refusal("backends FLASH_ATTN --gpu h1000", "did you mean h100?");
    check_refusal("backends flashinfer",
                  "there is no backend flashinfer (did you mean FLASHINFER?)");
    check_refusal("backends FLASH_ATTN --markdown", "--markdown prints all backends");
    check_refusal("backends NAIVE --gpu l4", "--gpu l4 has no effect on NAIVE");
    check_refusal("backends --html --markdown", "leave --markdown out");
    check_refusal("backends --gpu h100", "--gpu h100 asks about one backend");
  }
}
