// pagelab lesson and pagelab check: what they print, and their exit status (0 good, 1 a check failed, 2
// the request was wrong).

#include <doctest/doctest.h>

#include <fstream>

#include "tests/lessons/lesson_files.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab::test;

namespace {

/// Judges an answer to lesson 02 in which one function is this one; the rest is the solution's.
CommandResult check_answer(const std::string& function, const std::string& definition) {
  const ScratchFolder scratch;
  const std::filesystem::path answer = scratch.path() / "answer.h";
  std::ofstream(answer) << "#include <csignal>\n#include <stdexcept>\n"
                        << "#define " << function << " right_" << function << "\n"
                        << "#include \"lessons/02_block_tables/solution.h\"\n"
                        << "#undef " << function << "\n"
                        << "namespace pagelab::lesson_02 {\n"
                        << definition << "\n}\n";
  return run_pagelab("check 2 '" + answer.string() + "'");
}

CommandResult check_slot_of(const std::string& body) {
  return check_answer("slot_of",
                      "inline std::int64_t slot_of(const BlockTableRow& block_table, int position, "
                      "int block_size) {\n" +
                          body + "\n}");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("lesson commands") {
  TEST_CASE("pagelab lesson lists every lesson with its text") {
    const CommandResult result = run_pagelab("lesson");
    CHECK(result.exit_status == 0);
    for (const auto& folder : lesson_folders()) {
      CHECK(contains(result.output, folder.filename().string() + "/README.md"));
    }
  }

  TEST_CASE("a lesson that does not exist is refused in one sentence that names those that do") {
    const CommandResult result = run_pagelab("lesson 99");
    CHECK(result.exit_status == 2);
    std::string numbers;
    for (const auto& folder : lesson_folders()) {
      numbers += (numbers.empty() ? "" : ", ") + number_of(folder);
    }
    CHECK(result.output == "There is no lesson 99; the lessons are " + numbers + ".\n");
    CHECK(run_pagelab("check nine").exit_status == 2);
    CHECK(run_pagelab("check").exit_status == 2);
  }

  TEST_CASE("an example passes its exit status on") {
    CHECK(run_pagelab("lesson 2 0 1 2").exit_status == 0);
    CHECK(run_pagelab("lesson 2 4 4 1").exit_status == 1);
    const CommandResult refused = run_pagelab("lesson 2 8 1 2");
    CHECK(refused.exit_status == 2);
    CHECK(refused.output == "The block table needs 3 blocks, each of 0 to 7, as in: 6 1 4.\n");
    CHECK(run_pagelab("lesson 2 1 2").exit_status == 2);
    CHECK(run_pagelab("lesson 2 '' 1 2").exit_status == 2);
  }

  TEST_CASE("words that an example does not take are refused in one sentence") {
    for (const std::string number : {"1", "3", "4", "6", "7", "8", "9", "11", "12"}) {
      const CommandResult refused = run_pagelab("lesson " + number + " extra");
      CHECK(refused.exit_status == 2);
      CHECK(refused.output == "This lesson takes no arguments, so extra is too much.\n");
    }
    const CommandResult unknown = run_pagelab("lesson 5 rase");
    CHECK(unknown.exit_status == 2);
    CHECK(contains(unknown.output, "There is no fault rase (did you mean race?); "));
    CHECK(run_pagelab("lesson 5 race extra").exit_status == 2);
    // What the simulator finds is no fault of the request.
    CHECK(run_pagelab("lesson 5 race").exit_status == 1);
  }

  TEST_CASE("a file that is not there is refused in one sentence") {
    const CommandResult result = run_pagelab("check 2 no_such_file.h");
    CHECK(result.exit_status == 2);
    CHECK(result.output ==
          "no_such_file.h is not a file; name the header that holds your answer to lesson 2, or "
          "none for its "
          "exercise.h.\n");
  }

  TEST_CASE("the first failing task is reported alone") {
    const CommandResult result = check_slot_of(
        "throw lessons::NotSolved{\"02\", 2}; return block_table[position / block_size];");
    CHECK(result.exit_status == 1);
    CHECK(contains(result.output, "task 1  choose_block_table"));
    CHECK(contains(
        result.output,
        "Task 2, slot_of, is not solved yet.\n  next      Fill the gap TODO(2) of slot_of in"));
    CHECK_FALSE(contains(result.output, "Task 3"));
  }

  TEST_CASE("a right answer is told which lesson comes next") {
    const CommandResult result = run_pagelab("check 2 lessons/02_block_tables/solution.h");
    CHECK(result.exit_status == 0);
    CHECK(contains(result.output, "All 5 tasks are right.\nNext: lesson 3, the contract"));
  }

  TEST_CASE("an answer that does not compile fails the check and says where") {
    const CommandResult result = check_slot_of("return block_tabel[0];");
    CHECK(result.exit_status == 1);
    CHECK(contains(result.output, "answer.h:8:"));
    CHECK(contains(result.output, "answer.h does not compile."));
  }

  TEST_CASE("an answer that calls what nobody defines fails the check and is named") {
    const CommandResult result = check_answer("slot_of", R"(
        int somewhere(int position);
        inline std::int64_t slot_of(const BlockTableRow&, int position, int) {
          return somewhere(position);
        })");
    CHECK(result.exit_status == 1);
    CHECK(contains(result.output, "somewhere"));
    CHECK(contains(result.output, "answer.h compiles, but calls something that is declared"));
  }

  TEST_CASE("a check that cannot be linked for another reason is not blamed on the answer") {
    // A linker that links nothing; the compiler looks for it in COMPILER_PATH first.
    const ScratchFolder scratch;
    std::ofstream(scratch.path() / "ld") << "#!/bin/sh\necho 'no linking today' >&2\nexit 1\n";
    std::filesystem::permissions(scratch.path() / "ld", std::filesystem::perms::owner_all);
    const CommandResult result =
        run_command("env COMPILER_PATH='" + scratch.path().string() + "' " + pagelab_program() +
                    " check 2 lessons/02_block_tables/solution.h");
    CHECK(result.exit_status == 1);
    CHECK(contains(result.output, "no linking today"));
    CHECK_MESSAGE(contains(result.output,
                           "The check of lesson 2 cannot be linked with pagelab's own "
                           "libraries"),
                  result.output);
    CHECK(contains(result.output, "not of lessons/02_block_tables/solution.h"));
  }

  TEST_CASE("an answer that asks too often passes and is told what it cost") {
    const CommandResult result = check_answer("attend_in_place", R"(
        inline Row attend_in_place(const Row& query, const PagedCache& cache,
                                   const BlockTableRow& block_table, int seq_len) {
          return attend(query, gather(cache.keys, block_table, seq_len, cache.block_size),
                        gather(cache.values, block_table, seq_len, cache.block_size));
        })");
    CHECK(result.exit_status == 0);
    CHECK(contains(result.output,
                   "48 tokens in 3 blocks took 96 lookups of the block table; one a block for the "
                   "keys and one for the values would be 6."));
  }

  TEST_CASE("an answer that crashes is reported with its task and input") {
    const CommandResult result =
        check_slot_of("return *reinterpret_cast<volatile int*>(position + 8);");
    CHECK(result.exit_status == 1);
    CHECK(contains(result.output, "Task 2, slot_of, crashed"));
    CHECK(contains(result.output, "input     block_table [5], block_size 1, seq_len 1"));
  }

  TEST_CASE("an answer that indexes past a vector is stopped there") {
    const CommandResult result = check_slot_of("return std::vector<int>(3)[block_size + 9];");
    CHECK(result.exit_status == 1);
    CHECK(
        contains(result.output, "Task 2, slot_of, was stopped by a check of the standard library"));
  }

  TEST_CASE("an answer that runs for ever is stopped") {
    // The alarm that would come after ten seconds, at once.
    const CommandResult result = check_slot_of("std::raise(SIGALRM); return 0;");
    CHECK(result.exit_status == 1);
    CHECK(contains(result.output, "Task 2, slot_of, is not done after 10 seconds."));
  }

  TEST_CASE("an answer that launches no kernel is told so however right its result is") {
    const CommandResult result =
        run_pagelab("check 5 lessons/05_a_first_cuda_kernel/wrong/computed_by_the_host.h");
    CHECK(result.exit_status == 1);
    CHECK(contains(result.output, "Task 1, largest_score, is not right yet."));
    CHECK(contains(result.output, "got       no kernel was launched"));
  }

  TEST_CASE("an answer that throws is reported with what it threw") {
    const CommandResult result = check_slot_of("throw std::runtime_error(\"no idea\");");
    CHECK(result.exit_status == 1);
    CHECK(contains(result.output, "got       the exception no idea"));
  }
}
