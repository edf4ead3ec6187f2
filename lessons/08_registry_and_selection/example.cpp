// Lesson 08: one layer's way to its backend, step by step: its record, the candidates, what each says, the
// choice; a backend that is forced; and what other GPUs and settings would have led to.

#include <cstdio>

#include "lessons/08_registry_and_selection/questions.h"
#include "reference/registry/gpu_names.h"
#include "reference/registry/priorities.h"
#include "reference/registry/selection.h"
#include "reference/registry/validate_configuration.h"

using namespace pagelab;
using lesson_08::plain_layer;

const BackendRegistry kRegistry = BackendRegistry::of_attention();

// Asks the candidates one after the other, as select_attention_backend does.
void ask_each(const SelectionQuestion& question) {
  for (const std::string_view name : backend_priorities(question)) {
    const BackendFacts& facts = kRegistry.load(std::string(name), question.environment);
    const std::vector<std::string> reasons = validate_configuration(facts, question);
    std::printf("  %-15s %s\n", std::string(name).c_str(),
                reasons.empty() ? "accepts" : "declines:");
    for (const std::string& reason : reasons) std::printf("  %-15s   %s\n", "", reason.c_str());
  }
}

void print_answer(const SelectionQuestion& question, const std::optional<std::string>& forced) {
  const Selection selection = select_attention_backend(question, forced, kRegistry);
  if (selection.info) std::printf("  INFO %s\n", selection.info->c_str());
  if (selection.error) {
    std::printf("  %s: %s\n", selection.error->kind.c_str(), selection.error->message.c_str());
  }
}

std::string choice(const SelectionQuestion& question) {
  return select_attention_backend(question, {}, kRegistry).selected.value_or("nobody");
}

// One line a GPU: what is chosen as the settings change.
void print_table() {
  std::printf("  %-10s  %-14s  %-14s  %s\n", "", "auto", "fp8", "float32");
  for (const char* gpu : {"t4", "a100", "l4", "h100", "b200", "rtx5090"}) {
    const SelectionQuestion plain = plain_layer(capability_of_gpu(gpu));
    SelectionQuestion fp8 = plain;
    fp8.config.kv_cache_dtype = "fp8";
    SelectionQuestion float32 = plain;
    float32.config.dtype = "float32";
    std::printf("  %-10s  %-14s  %-14s  %s\n", gpu, choice(plain).c_str(), choice(fp8).c_str(),
                choice(float32).c_str());
  }
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "This lesson takes no arguments, so %s is too much.\n", argv[1]);
    return 2;
  }
  SelectionQuestion question = plain_layer(capability_of_gpu("l4"));
  question.config.kv_cache_dtype = "fp8_e5m2";

  std::printf("1. The record, on an L4 (8.9)\n  %s\n", to_string(question.config).c_str());
  std::printf("2. The candidates, in order, and\n3. what each says\n");
  ask_each(question);
  std::printf("4. The choice\n");
  print_answer(question, {});
  std::printf("5. Forced: --attention-backend TRITON_ATTN, then FLASH_ATTN\n");
  print_answer(question, "TRITON_ATTN");
  print_answer(question, "FLASH_ATTN");
  std::printf("6. A plain layer elsewhere, with a cache of fp8, with activations of float32\n");
  print_table();
}
