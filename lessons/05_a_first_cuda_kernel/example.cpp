// Lesson 05: the scores of 300 keys, by a loop and by a grid of threads in the simulator.
// Argument: "cuda" runs the grid on a GPU; the name of a kernel in faults.cuh provokes its fault.

#include <cmath>
#include <cstdio>

#include "lessons/05_a_first_cuda_kernel/provoke.h"
#include "lessons/05_a_first_cuda_kernel/scores.h"
#include "lessons/05_a_first_cuda_kernel/words.h"
#include "simulator/simt/counters.h"

using namespace pagelab;
using namespace pagelab::lesson_05;
using Floats = std::vector<float>;
using LaunchScores = void (*)(const ScoresParams&);

constexpr int kNumKeys = 300, kHeadSize = 8;
constexpr float kScale = 0.35355339f;  // 1/√8
#if defined(PAGELAB_HAS_CUDA)
constexpr LaunchScores kLaunchOnGpu = on_cuda::launch_scores;
#else
constexpr LaunchScores kLaunchOnGpu = nullptr;  // and cuda_device() says why
#endif

// The loop that the kernel takes the place of.
Floats scores_by_loop(const Floats& query, const Floats& keys) {
  Floats scores;
  for (int key_idx = 0; key_idx < kNumKeys; ++key_idx) {
    float query_dot_key = 0;
    for (int d = 0; d < kHeadSize; ++d) query_dot_key += query[d] * keys[key_idx * kHeadSize + d];
    scores.push_back(query_dot_key * kScale);
  }
  return scores;
}

// Copies to the device, launches a thread for each key, copies back.
Floats scores_by_grid(std::shared_ptr<Device> device,
                      LaunchScores launch_scores,
                      const Floats& query,
                      const Floats& keys) {
  const DeviceArray query_array = DeviceArray::copy_of(device, query, "query");
  const DeviceArray key_array = DeviceArray::copy_of(device, keys, "keys");
  const DeviceArray score_array(device, kNumKeys * sizeof(float), "scores");
  launch_scores({query_array.as<float>(), key_array.as<float>(), score_array.as<float>(), kNumKeys,
                 kHeadSize, kScale});
  Floats scores(kNumKeys);
  score_array.copy_to(scores.data());
  return scores;
}

int main(int argc, char** argv) try {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (is_refused(words)) return 2;
  const bool on_gpu = !words.empty() && words[0] == "cuda";
  if (!words.empty() && !on_gpu) provoke(words[0]);
  Floats query, keys;
  for (int d = 0; d < kHeadSize; ++d) query.push_back(std::cos(2.0f * d));
  for (int i = 0; i < kNumKeys * kHeadSize; ++i) keys.push_back(std::sin(3.0f * i));
  const auto device = on_gpu ? cuda_device() : simulator_device();
  const LaunchScores launch_scores = on_gpu ? kLaunchOnGpu : on_simulator::launch_scores;
  const Floats by_grid = scores_by_grid(device, launch_scores, query, keys);

  std::printf("key  thread block  thread  warp  lane      score  (%s)\n", device->name().c_str());
  for (const int key_idx : {0, 1, 31, 32, 127, 128, 299}) {
    const int cta_idx = key_idx / kThreadsPerCta, thread_idx = key_idx % kThreadsPerCta;
    std::printf("%3d  %12d  %6d  %4d  %4d  % .6f\n", key_idx, cta_idx, thread_idx, thread_idx / 32,
                thread_idx % 32, by_grid[key_idx]);
  }
  const bool identical = by_grid == scores_by_loop(query, keys);  // bit for bit: no tolerance
  std::printf("identical to the loop: %s\n\n", identical ? "true" : "false");

  // Once more in the simulator, with a look at every access to memory.
  const simt::ScopedCounting counting;
  scores_by_grid(checked_simulator_device(), on_checked_simulator::launch_scores, query, keys);
  std::printf("%s", to_string(counting.counters()).c_str());
  return identical ? 0 : 1;
} catch (const Error& error) {
  std::printf("%s\n", error.what());
  return 1;
}
