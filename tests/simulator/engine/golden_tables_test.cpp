// Every line of the golden tables that the classes of vLLM 0.32.0's engine made.

#include <doctest/doctest.h>

#include <string>

#include "simulator/engine/replay/engine_tables.h"
#include "tests/support/environment.h"

using namespace pagelab;

namespace {

void check_table(const std::string& name, std::int64_t num_lines) {
  for (const TableKind& kind : engine_table_kinds()) {
    if (kind.name != name) continue;
    const TableReport report =
        replay_table(kind, test::golden_dir() / "engine" / (name + ".jsonl"));
    CHECK(report.num_lines == num_lines);
    CHECK(report.num_agreeing == num_lines);
    for (const TableDifference& difference : report.differences) {
      const std::string field = name + " " + difference.line_id + ", " + difference.field;
      CHECK_MESSAGE(difference.ours == difference.theirs, field);
    }
    return;
  }
  FAIL(name << " is no kind of the engine's golden tables");
}

}  // namespace

TEST_SUITE("golden tables of the engine") {
  TEST_CASE("the kernel block size of 200 groups of backends is that of vLLM") {
    check_table("kernel_block_size", 200);
  }
}
