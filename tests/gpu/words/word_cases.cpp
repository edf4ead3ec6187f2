#include "tests/gpu/words/word_cases.h"

#include <cstring>

#include "gpu/runtime/device_array.h"
#include "reference/contract/error.h"

namespace pagelab::test {

namespace {

std::vector<WordKernel> kernels_of(const Device& device) {
  switch (device.kind()) {
#if defined(PAGELAB_HAS_CUDA)
    case DeviceKind::kCuda:
      return on_cuda::word_kernels();
#endif
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
    case DeviceKind::kCheckedSimulator:
      return on_checked_simulator::word_kernels();
#endif
    default:
      return on_simulator::word_kernels();
  }
}

WordKernel kernel_of(const WordCase& word_case, const Device& device) {
  for (const WordKernel& kernel : kernels_of(device)) {
    if (kernel.name == word_case.kernel) return kernel;
  }
  throw Error("there is no kernel " + word_case.kernel + " for " + device.name() + ".");
}

std::string to_string(const Extent& extent) {
  return "(" + std::to_string(extent.x) + ", " + std::to_string(extent.y) + ", " +
         std::to_string(extent.z) + ")";
}

}  // namespace

std::string to_string(const WordCase& word_case) {
  return word_case.kernel + " variant " + std::to_string(word_case.variant) + " size " +
         std::to_string(word_case.size) + " grid " + to_string(word_case.on.grid) + " threads " +
         to_string(word_case.on.cta);
}

std::uint64_t memory_before(std::size_t word) {
  // Each half a float of ordinary size, so that no vector of floats holds a NaN.
  const std::uint64_t random = drawn(WordCase::kSeed, static_cast<unsigned int>(word), 4000);
  return (random & 0x807fffff807fffffu) | 0x4200000042000000u;
}

float float_before(std::size_t index) {
  const std::uint64_t word = memory_before(index / 2);
  const std::uint32_t bits = static_cast<std::uint32_t>(index % 2 == 0 ? word : word >> 32);
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

WordResults run_word(const WordCase& word_case, const std::shared_ptr<Device>& device) {
  WordResults outcome;
  const std::size_t num_results =
      static_cast<std::size_t>(word_case.num_threads()) * word_case.results_per_thread;
  outcome.results.resize(num_results);
  outcome.memory.resize(word_case.memory_words);
  for (std::size_t word = 0; word_case.memory_is_drawn && word < word_case.memory_words; ++word) {
    outcome.memory[word] = memory_before(word);
  }
  const DeviceArray results(device, num_results * sizeof(std::uint64_t), "results");
  const DeviceArray memory = DeviceArray::copy_of(device, outcome.memory, "memory");
  WordParams params;
  params.seed = WordCase::kSeed;
  params.variant = word_case.variant;
  params.size = word_case.size;
  params.results_per_thread = word_case.results_per_thread;
  params.results = results.as<std::uint64_t>();
  params.memory = memory.as<std::uint64_t>();
  const WordKernel kernel = kernel_of(word_case, *device);
  kernel.launch(kernel.name, word_case.on, params);
  device->synchronize();
  results.copy_to(outcome.results.data());
  memory.copy_to(outcome.memory.data());
  if (word_case.memory == nullptr) outcome.memory.clear();
  return outcome;
}

WordResults expected_word(const WordCase& word_case) {
  WordResults expected;
  for (unsigned int thread = 0; thread < word_case.num_threads(); ++thread) {
    for (int index = 0; index < word_case.results_per_thread; ++index) {
      expected.results.push_back(word_case.result(word_case, thread, index));
    }
  }
  if (word_case.memory == nullptr) return expected;
  for (std::size_t word = 0; word < word_case.memory_words; ++word) {
    expected.memory.push_back(word_case.memory(word_case, word));
  }
  return expected;
}

std::string word_line(const WordCase& word_case, const WordResults& results) {
  std::vector<std::uint64_t> all = results.results;
  all.insert(all.end(), results.memory.begin(), results.memory.end());
  std::uint64_t hash = 0;
  for (std::uint64_t number : all) hash = mix64(hash + mix64(number));
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  std::string line = to_string(word_case) + " hash " + text + " first";
  for (std::size_t index = 0; index < 4 && index < all.size(); ++index) {
    std::snprintf(text, sizeof text, " %llx", static_cast<unsigned long long>(all[index]));
    line += text;
  }
  return line;
}

std::vector<WordCase> word_cases() {
  std::vector<WordCase> all;
  for (const auto& some :
       {barrier_cases(), shuffle_cases(), vote_cases(), atomic_cases(), contention_cases(),
        number_cases(), shared_array_cases(), tile_cases()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::vector<std::string> word_lines(const std::shared_ptr<Device>& device) {
  std::vector<std::string> lines;
  for (const WordCase& word_case : word_cases()) {
    if (word_case.is_for_gpu_only) continue;
    lines.push_back(word_line(word_case, run_word(word_case, device)));
  }
  return lines;
}

std::vector<Extent> cta_shapes() {
  return {{1, 1, 1},  {31, 1, 1},   {32, 1, 1}, {33, 1, 1}, {48, 1, 1},
          {97, 1, 1}, {1024, 1, 1}, {8, 8, 1},  {7, 5, 1},  {3, 5, 7}};
}

unsigned int group_of(const WordCase& word_case, unsigned int thread) {
  const unsigned int in_cta = thread % word_case.threads_per_cta();
  const unsigned int lane = in_cta % kLanes;
  const unsigned int mask = first_group(word_case.variant);
  unsigned int group = 0;
  for (unsigned int other = 0; other < lanes_of_warp(in_cta, word_case.threads_per_cta());
       ++other) {
    if ((mask >> other & 1u) == (mask >> lane & 1u)) group |= 1u << other;
  }
  return group;
}

}  // namespace pagelab::test
