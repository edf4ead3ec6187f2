// Every line of the golden tables that vLLM 0.32.0's own selection made, texts included.

#include <doctest/doctest.h>

#include <string>

#include "reference/replay/golden_table.h"
#include "reference/replay/replayed_registry.h"
#include "tests/support/environment.h"

using namespace pagelab;

namespace {

void check_table(const TableKind& kind, std::int64_t num_lines) {
  const TableReport report =
      replay_table(kind, test::golden_dir() / "registry" / (kind.name + ".jsonl"));
  CHECK(report.num_lines == num_lines);
  CHECK(report.num_agreeing == num_lines);
  for (const TableDifference& difference : report.differences) {
    const std::string field = difference.line_id + ", " + difference.field;
    CHECK_MESSAGE(difference.ours == difference.theirs, field);
  }
}

}  // namespace

TEST_SUITE("golden tables of the registry") {
  TEST_CASE("the choice and every reason and text of 1570 records are those of vLLM") {
    check_table({"selection", answer_selection}, 1570);
  }

  // They are made from backends.json (mutations_test.cpp), and ask those whom the table above hardly asks.
  TEST_CASE("the choice follows on 874 more lines from what the classes of vLLM say") {
    const TableReport report =
        replay_table({"selection", answer_selection},
                     test::golden_dir() / "registry" / "selection_of_facts.jsonl");
    CHECK(report.num_lines == 874);
    CHECK(report.num_agreeing == report.num_lines);
  }

  TEST_CASE("records and settings and towers and registration are those of vLLM on 141 lines") {
    check_table({"selector", answer_selector}, 141);
  }
}
