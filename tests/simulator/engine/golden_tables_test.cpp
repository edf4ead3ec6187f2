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
  TEST_CASE("8384 operations on managers of one group and 1896 on hybrid ones end as in vLLM") {
    check_table("kv_manager", 64);
    check_table("kv_manager_hybrid", 16);
  }

  TEST_CASE("11484 steps of 54 schedules are those of vLLM") { check_table("scheduler", 54); }

  TEST_CASE("the order and the cuts of 460 batches are those of both runners") {
    check_table("reorder", 460);
  }

  TEST_CASE("the slots and positions and kernel blocks of 300 steps are those of vLLM") {
    check_table("slot_mapping", 300);
  }

  TEST_CASE("the kernel block size of 200 groups of backends is that of vLLM") {
    check_table("kernel_block_size", 200);
  }

  TEST_CASE("whether to use cascade and over which prefix is as in vLLM 0.20.2 on 710 lines") {
    check_table("cascade", 710);
  }

  TEST_CASE("320 graph modes are lowered and refused with the warnings and errors of vLLM") {
    check_table("cudagraph_mode", 320);
  }

  TEST_CASE("5400 steps are replayed by the graphs that vLLM's two runners choose") {
    check_table("cudagraph_dispatch", 180);
  }

  TEST_CASE("150 lists of capture sizes are those of vLLM") { check_table("capture_sizes", 150); }

  TEST_CASE("400 pages and unified pages and admission caps are those of vLLM") {
    check_table("sizing", 400);
  }
}
