#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reference/tensor/npy.h"
#include "tests/cli/refusal.h"
#include "tests/support/environment.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

using namespace pagelab;
using test::check_refusal;
using test::CommandResult;
using test::kRequestWasWrong;
using test::run_pagelab;

namespace {

constexpr int kAgrees = 0, kDisagrees = 1, kPagelabFailed = 1;

std::string golden_step(const std::string& name) {
  return (test::golden_dir() / "steps" / name).string();
}

// A copy of a golden step that a test may spoil.
class StepCopy {
 public:
  explicit StepCopy(const std::string& name) {
    std::filesystem::copy(test::golden_dir() / "steps" / name, folder_.path());
  }
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
  std::string path() const { return folder_.path().string(); }

 private:
  test::ScratchFolder folder_;
};

}  // namespace

TEST_SUITE("program") {
  TEST_CASE("attend agrees with a golden step on every backend that needs no GPU") {
    for (const std::string backend :
         {"REFERENCE", "REFERENCE_FLOAT", "NAIVE", "CPU_ATTN", "FLASH_ATTN", "FLASHINFER",
          "TRITON_ATTN", "FLEX_ATTENTION"}) {
      const CommandResult run =
          run_pagelab("attend " + golden_step("012_chunked_window_softcap_sinks_float32") +
                      " --backend " + backend);
      CHECK_MESSAGE(run.exit_status == kAgrees, run.output);
    }
  }

  TEST_CASE("attend writes float64 from REFERENCE and the stored cache bit for bit") {
    const StepCopy step("003_mixed_alibi_bfloat16");
    const std::filesystem::path out = step.file("out");
    const CommandResult run = run_pagelab("attend " + step.path() + " --out " + out.string());
    REQUIRE_MESSAGE(run.exit_status == kAgrees, run.output);
    CHECK(read_npy(out / "output.npy").dtype() == DType::kFloat64);
    CHECK(read_npy(out / "output.npy").shape() == Shape{32, 21, 8});
    CHECK(read_npy(out / "lse.npy").shape() == Shape{21, 32});
    CHECK(
        identical(read_npy(out / "key_cache.npy"), read_npy(step.file("expected_key_cache.npy"))));
    CHECK(identical(read_npy(out / "value_cache.npy"),
                    read_npy(step.file("expected_value_cache.npy"))));
  }

  TEST_CASE("one expected value that is off by a thousandth fails and is named") {
    const StepCopy step("000_chunked_none_float32");
    Tensor expected = read_npy(step.file("expected_output.npy"));
    expected.data<double>()[expected.size() - 1] += 1e-3;
    write_npy(step.file("expected_output.npy"), expected);
    const CommandResult run = run_pagelab("attend " + step.path());
    CHECK(run.exit_status == kDisagrees);
    CHECK_MESSAGE(run.output.find("DISAGREES") != std::string::npos, run.output);
  }

  TEST_CASE("compare says how far an output is from what is expected and where to look") {
    // Bounds are some 1e-6 here, so that an error of 1000 is a billion times as large.
    const StepCopy step("000_chunked_none_float32");
    Tensor expected = read_npy(step.file("expected_output.npy"));
    expected.data<double>()[0] += 1e3;
    write_npy(step.file("expected_output.npy"), expected);
    const CommandResult run = run_pagelab("compare " + step.path());
    CHECK(run.exit_status == kDisagrees);
    int num_backends = 0;
    std::istringstream lines(run.output);
    for (std::string line; std::getline(lines, line);) {
      std::string backend, target;
      double percent = 0.0;
      std::istringstream columns(line);
      if (!(columns >> backend >> target >> percent)) continue;
      CAPTURE(line);
      CHECK(percent > 1e8);
      CHECK(line.ends_with("NO"));
      ++num_backends;
    }
    CHECK(num_backends >= 4);
    CHECK_MESSAGE(run.output.ends_with("\nWhich elements are too far: ./pagelab attend " +
                                       step.path() + " --backend REFERENCE --target cpu\n"),
                  run.output);
    CHECK(run_pagelab("attend " + step.path() + " --backend REFERENCE --target cpu")
              .output.find("the worst and its neighbours") != std::string::npos);
  }

  TEST_CASE("a NaN among the expected values fails attend and compare") {
    const StepCopy step("000_chunked_none_float32");
    Tensor expected = read_npy(step.file("expected_lse.npy"));
    expected.data<double>()[0] = std::numeric_limits<double>::quiet_NaN();
    write_npy(step.file("expected_lse.npy"), expected);
    CHECK(run_pagelab("attend " + step.path()).exit_status == kDisagrees);
    CHECK(run_pagelab("compare " + step.path()).exit_status == kDisagrees);
  }

  TEST_CASE("a cache that is expected with one other bit fails") {
    const StepCopy step("014_mixed_window_float16");
    Tensor expected = read_npy(step.file("expected_value_cache.npy"));
    expected.bytes()[expected.size_in_bytes() - 2] ^= std::byte{1};
    write_npy(step.file("expected_value_cache.npy"), expected);
    CHECK(run_pagelab("attend " + step.path() + " --backend NAIVE").exit_status == kDisagrees);
  }

  TEST_CASE("compare prints a line a backend and agrees on a golden step") {
    const CommandResult run = run_pagelab("compare " + golden_step("009_decode_alibi_float64"));
    CHECK_MESSAGE(run.exit_status == kAgrees, run.output);
    for (const std::string backend :
         {"REFERENCE ", "REFERENCE_FLOAT", "NAIVE", "CPU_ATTN", "FLASH_ATTN", "FLASHINFER",
          "TRITON_ATTN", "FLEX_ATTENTION"}) {
      CHECK(run.output.find(backend) != std::string::npos);
    }
  }

  TEST_CASE("compare speaks JSON with the same verdict") {
    const CommandResult run =
        run_pagelab("compare " + golden_step("010_prefill_sinks_float16") + " --json");
    const nlohmann::json document = nlohmann::json::parse(run.output);
    CHECK(document.at("agrees") == true);
    CHECK(document.at("backends").size() >= 3);
    for (const nlohmann::json& backend : document.at("backends")) {
      CHECK(backend.at("agreement").at("output_share_of_bound").get<double>() <= 1.0);
    }
  }

  TEST_CASE("a step without expected values is run and said to be compared with nothing") {
    const StepCopy step("000_chunked_none_float32");
    for (const std::string name : {"output", "lse", "key_cache", "value_cache"}) {
      std::filesystem::remove(step.file("expected_" + name + ".npy"));
    }
    const CommandResult run = run_pagelab("attend " + step.path());
    CHECK(run.exit_status == kAgrees);
    CHECK(run.output.find("nothing was compared") != std::string::npos);
    // REFERENCE is then what the other backends are compared with; they use a share of their bound.
    const CommandResult comparison = run_pagelab("compare " + step.path());
    CHECK(comparison.exit_status == kAgrees);
    CHECK(comparison.output.find("what the others are compared with") != std::string::npos);
    CHECK_MESSAGE(comparison.output.find(" 0.00 %") == std::string::npos, comparison.output);
  }

  TEST_CASE("what is wrong with a request is said in one sentence on stderr") {
    const std::string step = golden_step("000_chunked_none_float32");
    check_refusal("attend /no/such/step", "/no/such/step");
    check_refusal("attend " + step + " --backend NAIV", "NAIVE");
    check_refusal("attend " + step + " --target tpu", "tpu");
    check_refusal("attend " + step + " --backend NAIVE --target cpu", "cpu");
    check_refusal("attend", "STEP");
    check_refusal("attend " + step + " --out ''", "--out");
    check_refusal("attend " + step + " --target ''", "--target");
    check_refusal("attend " + step + " --no-such-option", "--no-such-option");
    check_refusal("no_such_command", "no_such_command is not a subcommand");
    check_refusal("", "subcommand");
  }

  TEST_CASE("an option that is none is named with the one that was meant") {
    check_refusal("attend x --backnd REFERENCE",
                  "--backnd is not an option of attend (did you mean --backend?).");
    // What else the parser misses, here --model, is said once the options are right.
    check_refusal("generate --modle=x",
                  "--modle is not an option of generate (did you mean --model?)");
    check_refusal("simulate x --no-enable-prefix-cachin", "mean --no-enable-prefix-caching?");
    check_refusal("--versoin", "--versoin is not an option of pagelab (did you mean --version?)");
    check_refusal("measure attention --dtype fp16x", "did you mean float16?");
    // Not --enable-prefix-caching, which is the opposite.
    check_refusal("generate --no-prefix-caching", "mean --no-enable-prefix-caching?");
    check_refusal("generate --disable-chunked-prefill", "mean --no-enable-chunked-prefill?");
    check_refusal("simulate x --async-scheduling", "is not an option of simulate. See");
    // Any name of two letters has one of a short word's.
    check_refusal("simulate x --gpu 9", "there is no GPU 9; give");
  }

  TEST_CASE("a flag with a value is refused") {
    check_refusal("generate --model x --json=3", "--json=3: --json takes no value.");
    check_refusal("simulate x --no-enable-prefix-caching=-1", "-caching takes no value.");
    check_refusal("measure attention --dtype=x", "--dtype: it is x;");
  }

  TEST_CASE("only what is expected is compared") {
    const StepCopy step("000_chunked_none_float32");
    for (const std::string name : {"output", "key_cache", "value_cache"}) {
      std::filesystem::remove(step.file("expected_" + name + ".npy"));
    }
    const CommandResult run = run_pagelab("attend " + step.path());
    CHECK(run.exit_status == kAgrees);
    CHECK(run.output.find("  lse  ") != std::string::npos);
    CHECK(run.output.find("  key cache ") == std::string::npos);
  }

  TEST_CASE("K20: attend and compare say that a missing scale is 1") {
    const StepCopy step("000_chunked_none_float32");
    for (const std::string name : {"key_cache", "value_cache"}) {
      const Tensor cache = read_npy(step.file(name + ".npy"));
      write_npy(step.file(name + ".npy"), Tensor(DType::kUInt8, cache.shape()));
    }
    for (const std::string name : {"output", "lse", "key_cache", "value_cache"}) {
      std::filesystem::remove(step.file("expected_" + name + ".npy"));
    }
    std::ofstream(step.file("step.json"))
        << R"({"dtype": "float32", "kv_cache_dtype": "fp8", "k_scale": 2})";
    for (const std::string command : {"attend ", "compare "}) {
      const CommandResult run = run_pagelab(command + step.path());
      CHECK_MESSAGE(run.exit_status == kAgrees, run.output);
      CHECK_MESSAGE(run.output.find("note: k_scale is given, but v_scale is not: it is 1.\n") !=
                        std::string::npos,
                    run.output);
    }
  }

  TEST_CASE("a link that leads nowhere is not taken for an absent file") {
    const StepCopy step("000_chunked_none_float32");
    std::filesystem::create_symlink("/nowhere", step.file("sinks.npy"));
    check_refusal("attend " + step.path(), "sinks.npy");
  }

  TEST_CASE("output that nobody receives is an error") {
    const std::string step = golden_step("000_chunked_none_float32");
    const CommandResult run =
        test::run_command("(" + test::pagelab_program() + " attend '" + step + "' >/dev/full)");
    CHECK(run.exit_status == kRequestWasWrong);
    CHECK_MESSAGE(run.output.find("stdout") != std::string::npos, run.output);
    // This one's output is longer than what is held back, so it fails on the way.
    const CommandResult backends =
        test::run_command("(" + test::pagelab_program() + " backends >/dev/full)");
    CHECK(backends.exit_status == kRequestWasWrong);
    CHECK_MESSAGE(
        backends.output == "The output could not be written to stdout. Is the disk full?\n",
        backends.output);
  }

  TEST_CASE("an error that pagelab did not foresee is not blamed on the request") {
    // A checkout whose golden texts are damaged: nobody asked for them, so nothing checks them.
    const test::ScratchFolder checkout;
    const std::filesystem::path model = checkout.path() / "reference" / "model" / "tiny_llama";
    std::filesystem::create_directories(model.parent_path());
    std::filesystem::copy(test::source_dir() / "reference" / "model" / "tiny_llama", model);
    std::ofstream(model / "golden_greedy.json") << "[{";
    const CommandResult run =
        test::run_command("env PAGELAB_SOURCE_DIR='" + checkout.path().string() + "' " +
                          test::pagelab_program() + " demo");
    CHECK(run.exit_status == kPagelabFailed);
    CHECK_MESSAGE(
        run.output.starts_with("pagelab stopped on an error that it did not foresee, which "
                               "is a fault of pagelab and not of the request: "),
        run.output);
  }

  TEST_CASE("a request that exceeds the memory is told so") {
    // 30000 blocks of 16 tokens, 4 layers, 2 KV heads of 32 floats: 0.9 GiB, where 0.5 are left.
    const CommandResult run = test::run_command(
        "(ulimit -v 524288; " + test::pagelab_program() +
        " generate --model reference/model/tiny_llama --prompt Hi --num-blocks 30000)");
    CHECK(run.exit_status == kRequestWasWrong);
    CHECK(run.output == "The memory of this machine does not hold what was asked for.\n");
  }

  TEST_CASE("results are not written over the step that they belong to") {
    const StepCopy step("000_chunked_none_float32");
    const Tensor before = read_npy(step.file("key_cache.npy"));
    check_refusal("attend " + step.path() + " --out " + step.path() + "/.", "--out");
    CHECK(identical(read_npy(step.file("key_cache.npy")), before));
  }

  TEST_CASE("an inconsistent step is refused before anything runs") {
    const StepCopy step("000_chunked_none_float32");
    Tensor seq_lens = read_npy(step.file("seq_lens.npy"));
    seq_lens.data<std::int32_t>()[0] = 1 << 30;
    write_npy(step.file("seq_lens.npy"), seq_lens);
    check_refusal("attend " + step.path(), "seq_lens[0]");
  }

  TEST_CASE("PAGELAB_SOURCE_DIR says where the lessons and the model lie unless it is empty") {
    const auto run_with = [](const std::string& source_dir, const std::string& arguments) {
      return test::run_command("env PAGELAB_SOURCE_DIR=" + source_dir + " " +
                               test::pagelab_program() + " " + arguments);
    };
    const CommandResult lessons = run_with("/nowhere", "lesson");
    CHECK(lessons.exit_status == kRequestWasWrong);
    CHECK_MESSAGE(lessons.output.starts_with("The lessons were in /nowhere/lessons, which is not"),
                  lessons.output);
    const CommandResult model = run_with("/nowhere", "demo");
    CHECK(model.exit_status == kRequestWasWrong);
    CHECK_MESSAGE(model.output.starts_with("/nowhere/reference/model/tiny_llama: there is no"),
                  model.output);
    CHECK(run_with("''", "lesson").exit_status == 0);
  }

  TEST_CASE("the demo ends well and prints the lesson program's numbers") {
    const CommandResult run = run_pagelab("demo --gpu t4");
    CHECK_MESSAGE(run.exit_status == kAgrees, run.output);
    CHECK(run.output.find(
              " (capability 7.5):\n   INFO Using TRITON_ATTN attention backend out of ") !=
          std::string::npos);
    CHECK(run_pagelab("demo --gpu t40").exit_status == kRequestWasWrong);
    CHECK(run.output.find(
              "paged attention:      [-0.007549  0.003507  0.004630]\nidentical: true\n") !=
          std::string::npos);
    CHECK(run.output.find("240 of 240") != std::string::npos);
    CHECK(run.output.find("pool: 18 blocks of 16 tokens") != std::string::npos);
    CHECK(run.output.find("NO") == std::string::npos);
  }
}
