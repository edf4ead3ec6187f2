// How long a choice of backend takes.
//
//   selection/random     one automatic choice, over random questions: most are refused by somebody, and
//                        a third by everybody
//   selection/<GPU>      the question of a Llama layer, which the first candidate answers
//
// The questions are drawn before the clock starts.

#include <benchmark/benchmark.h>

#include <vector>

#include "reference/registry/random_question.h"
#include "reference/registry/selection.h"

namespace {

using namespace pagelab;

void select_one_after_another(benchmark::State& state,
                              const std::vector<SelectionQuestion>& questions) {
  const BackendRegistry registry = BackendRegistry::of_attention();
  std::size_t question_idx = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        select_attention_backend(questions[question_idx], std::nullopt, registry));
    question_idx = question_idx + 1 < questions.size() ? question_idx + 1 : 0;
  }
}

std::vector<SelectionQuestion> random_questions() {
  constexpr int kNumQuestions = 4096;
  constexpr unsigned kSeed = 20261130;
  RandomQuestions drawn(kSeed);
  std::vector<SelectionQuestion> questions;
  for (int question_idx = 0; question_idx < kNumQuestions; ++question_idx) {
    questions.push_back(drawn.next());
  }
  return questions;
}

SelectionQuestion llama_layer_on(DeviceCapability capability) {
  SelectionQuestion question;
  question.config.head_size = 128;
  question.config.dtype = "bfloat16";
  question.config.kv_cache_dtype = "auto";
  question.capability = capability;
  return question;
}

void measure_random(benchmark::State& state) {
  select_one_after_another(state, random_questions());
}
void measure_h100(benchmark::State& state) {
  select_one_after_another(state, {llama_layer_on({9, 0})});
}
void measure_b200(benchmark::State& state) {
  select_one_after_another(state, {llama_layer_on({10, 0})});
}

}  // namespace

BENCHMARK(measure_random)->Name("selection/random");
BENCHMARK(measure_h100)->Name("selection/h100");
BENCHMARK(measure_b200)->Name("selection/b200");

BENCHMARK_MAIN();
