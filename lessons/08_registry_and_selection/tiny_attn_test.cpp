// The backend that this lesson registers in one file, tiny_attn.cpp, which is compiled into this program.

#include <doctest/doctest.h>

#include "gpu/backends/choose_backend.h"
#include "lessons/08_registry_and_selection/questions.h"
#include "reference/contract/error.h"
#include "reference/contract/step_folder.h"
#include "reference/source_dir.h"

using namespace pagelab;

namespace {

const BackendRequest kTinyAttn = {
    .backend = "TINY_ATTN", .target = "cpu", .gpu = {}, .as_vllm = true};

SelectionQuestion layer_with_blocks_of(std::int64_t block_size) {
  SelectionQuestion question = lesson_08::plain_layer({9, 0});
  question.config.head_size = 32;
  question.config.block_size = block_size;
  return question;
}

}  // namespace

TEST_SUITE("the backend of lesson 08") {
  TEST_CASE("a backend that registers itself in its file is found by name and attends") {
    const ChosenBackend chosen = choose_backend(kTinyAttn, layer_with_blocks_of(32));
    CHECK(chosen.backend->name() == "TINY_ATTN");
    CHECK(chosen.log ==
          std::vector<std::string>{"INFO Using AttentionBackendEnum.TINY_ATTN backend."});
    const AttentionStep step =
        read_step_folder(source_dir() / "tests" / "golden" / "steps" / "000_chunked_none_float32")
            .step;
    CHECK(attend(step, *chosen.backend).output.shape()[0] == step.num_tokens());
  }

  TEST_CASE("what its row declines is refused with the reasons of vLLM's selection") {
    CHECK_THROWS_WITH_AS(choose_backend(kTinyAttn, layer_with_blocks_of(16)),
                         "Selected backend AttentionBackendEnum.TINY_ATTN is not valid for this "
                         "configuration. Reason: ['block_size not supported']",
                         Error);
  }
}
