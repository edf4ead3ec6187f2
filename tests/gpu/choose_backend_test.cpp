// Selection in use: which backend a run gets, with vLLM's line or its reasons; what pagelab's rows claim,
// tried; and a backend of one's own, registered in this file.

#include "gpu/backends/choose_backend.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/backends/register_backend.h"
#include "reference/contract/error.h"
#include "reference/registry/forwarding_impl.h"
#include "reference/registry/reference_backends.h"
#include "reference/registry/step_question.h"
#include "reference/registry/validate_configuration.h"
#include "tests/support/random_step.h"

using namespace pagelab;

namespace {

// A whole backend in a few lines: it leaves the work to REFERENCE.
class OwnBackend final : public AttentionBackend {
 public:
  std::string name() const override { return "OWN_KERNEL"; }
  std::string target() const override { return "cpu"; }
  Precision precision(const AttentionStep&, std::int64_t) const override {
    return Precision::canonical_double();
  }
  std::unique_ptr<AttentionImpl> make_impl(const KvCache& initial_cache) const override {
    return std::make_unique<ForwardingImpl>(make_reference_backend()->make_impl(initial_cache));
  }
};

const BackendFacts kOwnFacts = {.dtypes = {"float32"},
                                .kernel_block_sizes = KernelBlockSizes{multiple_of(32)},
                                .head_sizes = HeadSizes{.listed = {64}}};
const std::string kLogLine =
    register_backend({{"OWN_KERNEL", {"cpu"}, kOwnFacts},
                      [](const std::string&) { return std::make_unique<OwnBackend>(); }});

SelectionQuestion llama_layer() {
  SelectionQuestion question;
  question.config.head_size = 128;
  question.config.dtype = "bfloat16";
  question.config.kv_cache_dtype = "auto";
  return question;
}

test::RandomStepOptions small_step(std::int64_t head_size) {
  test::RandomStepOptions options;
  options.head_size = options.head_size_v = head_size;
  options.num_reqs = 2;
  options.max_seq_len = 9;
  return options;
}

// One step of each kind that a row may claim.
std::vector<test::RandomStepOptions> steps_of_every_kind() {
  std::vector<test::RandomStepOptions> kinds;
  const auto add = [&kinds](auto&& change) {
    test::RandomStepOptions options = small_step(16);
    change(options);
    kinds.push_back(options);
  };
  const std::vector<DType> activations = {DType::kFloat64, DType::kFloat32, DType::kFloat16,
                                          DType::kBFloat16};
  for (const DType dtype : activations) {
    for (const DType cache : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                              DType::kFp8E4M3, DType::kFp8E5M2}) {
      add([&](auto& options) {
        options.dtype = dtype;
        options.kv_cache_dtype = cache;
      });
    }
  }
  for (const std::int64_t head_size : {1, 7, 256, 257}) {
    add([&](auto& options) { options.head_size = options.head_size_v = head_size; });
  }
  add([](auto& options) {
    options.kv_cache_dtype = DType::kFp8E4M3;
    options.scales_per_head = true;
  });
  add([](auto& options) { options.sinks = true; });
  add([](auto& options) { options.mm_prefix = true; });
  add([](auto& options) { options.window_left = 2; });
  add([](auto& options) { options.causal = false; });
  add([](auto& options) { options.attn_type = AttnType::kEncoderOnly; });
  add([](auto& options) { options.attn_type = AttnType::kEncoderDecoder; });
  add([](auto& options) {
    options.alibi = true;
    options.logit_softcap = 20.0;
    options.window_right = 1;
    options.causal = false;
    options.head_size_v = 12;
  });
  return kinds;
}

bool attends(const AttentionStep& step, const AttentionBackend& backend) {
  try {
    attend(step, backend);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string refusal_of(const BackendRequest& request, const SelectionQuestion& question) {
  try {
    choose_backend(request, question);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_SUITE("what the rows of pagelab claim") {
  TEST_CASE("every backend attends for exactly the kinds of steps that its row takes") {
    for (const BackendChoice& choice : all_backends()) {
      if (choice.name == "OWN_KERNEL") continue;
      for (const std::string& target : choice.targets) {
        if (target == "cuda") continue;  // the same kernels as in the simulator
        const std::unique_ptr<AttentionBackend> backend = choice.make(target);
        for (const test::RandomStepOptions& options : steps_of_every_kind()) {
          const AttentionStep step = test::random_step(options, 5);
          const bool claimed = validate_configuration(choice.takes, question_of_step(step)).empty();
          INFO(choice.name << " on " << target << ": " << to_string(step));
          CHECK(attends(step, *backend) == claimed);
        }
      }
    }
  }
}

TEST_SUITE("selection in use") {
  TEST_CASE("the simulator chooses as Hopper does and another GPU as that one does") {
    BackendRequest request;
    request.target = "simulator";
    ChosenBackend chosen = choose_backend(request, llama_layer());
    CHECK(chosen.backend->name() == "FLASH_ATTN");
    // TURBOQUANT is none of pagelab's; for an ordinary cache vLLM would not take it either.
    CHECK(chosen.log == std::vector<std::string>{
                            "INFO Using FLASH_ATTN attention backend out of potential backends: "
                            "['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN', 'FLEX_ATTENTION']."});
    request.gpu = DeviceCapability{10, 0};
    chosen = choose_backend(request, llama_layer());
    CHECK(chosen.backend->name() == "FLASHINFER");
    CHECK(chosen.backend->target() == "simulator");
  }

  TEST_CASE("G3: a block size that nobody takes ends with the reasons of all") {
    BackendRequest request;
    request.target = "simulator";
    SelectionQuestion question = llama_layer();
    question.config.block_size = 8;
    const std::string refusal = refusal_of(request, question);
    CHECK(refusal.find("No valid attention backend found for cuda with AttentionSelectorConfig(") ==
          0);
    CHECK(refusal.find("FLASH_ATTN: [block_size not supported], FLASHINFER: [block_size not "
                       "supported]") != std::string::npos);
    CHECK(refusal.find("TURBOQUANT: [ImportError: pagelab does not implement TURBOQUANT on target "
                       "simulator]") != std::string::npos);
  }

  TEST_CASE("a layer that pagelab lacks the kernel for goes to the next that vLLM would take") {
    // Version 4 takes heads of 512 on Hopper; pagelab's FLASH_ATTN stops at 256, and so do the others.
    BackendRequest request;
    request.target = "simulator";
    SelectionQuestion question = llama_layer();
    question.config.head_size = 512;
    CHECK(refusal_of(request, question)
              .find("FLASH_ATTN: [ImportError: pagelab's own FLASH_ATTN does not take this: "
                    "head_size not supported]") != std::string::npos);
  }

  TEST_CASE("a name goes by what pagelab can do and with as_vllm by the rules of the real one") {
    BackendRequest request;
    request.backend = "FLASH_ATTN";
    SelectionQuestion question = llama_layer();
    question.config.dtype = "float32";
    CHECK(choose_backend(request, question).backend->name() == "FLASH_ATTN");
    CHECK(choose_backend(request, question).log.empty());
    request.as_vllm = true;
    CHECK(refusal_of(request, question) ==
          "Selected backend AttentionBackendEnum.FLASH_ATTN is not valid for this configuration. "
          "Reason: ['dtype not supported']");
    question.config.dtype = "float16";
    CHECK(choose_backend(request, question).log ==
          std::vector<std::string>{"INFO Using AttentionBackendEnum.FLASH_ATTN backend."});
    // Sinks need version 3, which a Hopper has and an Ampere has not.
    question.config.has_sink = true;
    CHECK(refusal_of(request, question) == "");
    request.gpu = DeviceCapability{8, 0};
    CHECK(refusal_of(request, question).find("sink") != std::string::npos);
  }

  TEST_CASE("on the CPU the choice is CPU_ATTN whatever the block size") {
    BackendRequest request;
    request.target = "cpu";
    SelectionQuestion question = llama_layer();
    question.config.block_size = 3;
    CHECK(choose_backend(request, question).backend->name() == "CPU_ATTN");
    request.gpu = DeviceCapability{9, 0};
    CHECK(refusal_of(request, question).find("target cpu is no GPU") == 0);
  }

  TEST_CASE("what would have no effect or no rules is refused") {
    BackendRequest request;
    request.backend = "FLASH_ATTN";
    request.gpu = DeviceCapability{9, 0};
    CHECK(refusal_of(request, llama_layer()).find("--gpu has no effect on FLASH_ATTN") == 0);
    request.backend = "NAIVE";
    request.as_vllm = true;
    CHECK(refusal_of(request, llama_layer()).find("NAIVE is none of vLLM's backends") == 0);
  }
}

TEST_SUITE("a backend of one's own") {
  TEST_CASE("it is found by its name and attends and declines with its own reasons") {
    CHECK(kLogLine == "Registered new attention backend: OWN_KERNEL -> registered.OWN_KERNEL");
    test::RandomStepOptions options = small_step(64);
    options.block_size = 64;
    const AttentionStep step = test::random_step(options, 3);
    BackendRequest request;
    request.backend = "OWN_KERNEL";
    const ChosenBackend chosen = choose_backend(request, question_of_step(step));
    CHECK(identical(attend(step, *chosen.backend).output,
                    attend(step, *make_reference_backend()).output));

    request.as_vllm = true;
    CHECK(choose_backend(request, question_of_step(step)).log ==
          std::vector<std::string>{"INFO Using AttentionBackendEnum.OWN_KERNEL backend."});
    options.head_size = options.head_size_v = 32;
    const AttentionStep other = test::random_step(options, 3);
    CHECK(refusal_of(request, question_of_step(other)) ==
          "Selected backend AttentionBackendEnum.OWN_KERNEL is not valid for this configuration. "
          "Reason: ['head_size not supported']");
    request.as_vllm = false;
    CHECK(refusal_of(request, question_of_step(other)) ==
          "pagelab's own OWN_KERNEL does not take this: head_size not supported.");
  }

  TEST_CASE("G4: an open block size is what the backend prefers by the rules that count") {
    SelectionQuestion question = llama_layer();
    question.config.dtype = "float32";
    question.config.head_size = 64;
    const auto open_block_size = [&](const std::string& backend, bool as_vllm) {
      BackendRequest request;
      request.backend = backend;
      request.as_vllm = as_vllm;
      return choose_backend(request, question).open_block_size;
    };
    CHECK(open_block_size("OWN_KERNEL", false) == 32);
    CHECK(open_block_size("OWN_KERNEL", true) == 32);
    CHECK(open_block_size("TRITON_ATTN", true) == 16);
    // The real one pages with multiples of 32 (backends.json), pagelab's with anything.
    CHECK(open_block_size("CPU_ATTN", true) == 32);
    CHECK(open_block_size("CPU_ATTN", false) == 16);
  }

  TEST_CASE("a registration that cannot work is refused in a sentence") {
    const auto make = [](const std::string&) { return make_reference_backend(); };
    CHECK_THROWS_WITH_AS(
        register_backend({{"FLASH_ATTN", {"cpu"}, {}}, make}),
        "pagelab has a backend FLASH_ATTN already: register yours under another name.", Error);
    CHECK_THROWS_WITH_AS(register_backend({{"NO_PLACE", {}, {}}, make}),
                         "backend NO_PLACE runs nowhere: name its targets, cpu, simulator or cuda.",
                         Error);
    CHECK_THROWS_WITH_AS(
        register_backend({{"ODD_PLACE", {"gpu"}, {}}, make}),
        "backend ODD_PLACE has the target gpu; a target is cpu, simulator or cuda.", Error);
    CHECK_THROWS_WITH_AS(register_backend({{"NOTHING", {"cpu"}, {}}, nullptr}),
                         "nothing makes backend NOTHING: its `make` is empty.", Error);
    CHECK_THROWS_WITH_AS(register_backend({{"MY-KERNEL", {"cpu"}, {}}, make}),
                         "Invalid or reserved backend name: MY-KERNEL", Error);
  }
}
