#include "simulator/simt/cores.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

#include "simulator/simt/error.h"

namespace pagelab::simt {

namespace {

constexpr unsigned int kMaxCores = 1024;  // far more than a machine has

// How many cores to use: PAGELAB_CORES, or all of them where it is not set.
unsigned int num_cores_wanted() {
  const char* const setting = std::getenv("PAGELAB_CORES");
  if (setting == nullptr) return std::max(1u, std::thread::hardware_concurrency());
  const std::string_view text = setting;
  const char* const end = text.data() + text.size();
  unsigned int num_cores = 0;
  const std::from_chars_result parsed = std::from_chars(text.data(), end, num_cores);
  if (parsed.ec != std::errc() || parsed.ptr != end || num_cores < 1 || num_cores > kMaxCores) {
    throw Error("PAGELAB_CORES is '" + std::string(text) +
                "', but it must be how many cores the simulator uses, from 1 to " +
                std::to_string(kMaxCores) + ", or not be set, for all of them.");
  }
  return num_cores;
}

// Threads that sleep until there is work, and end with the program.
class Cores {
 public:
  Cores() {
    const unsigned int num_cores = num_cores_wanted();
    for (unsigned int other = 1; other < num_cores; ++other) {
      std::thread([this] { serve(); }).detach();
    }
  }

  void run(const std::function<void()>& work) {
    const std::unique_lock one_at_a_time(in_use_, std::try_to_lock);
    if (!one_at_a_time.owns_lock()) {
      work();
      return;
    }
    {
      const std::scoped_lock lock(mutex_);
      work_ = &work;
      ++round_;
    }
    wake_up_.notify_all();
    work();
    // Nothing is left to do. A thread that has not woken up by now, because other programs have its
    // core, is not waited for: launches of microseconds would last as long as its turn takes to come.
    std::unique_lock lock(mutex_);
    work_ = nullptr;
    done_.wait(lock, [this] { return num_working_ == 0; });
  }

 private:
  void serve() {
    std::uint64_t last_round = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_up_.wait(lock, [&] { return work_ != nullptr && round_ != last_round; });
      last_round = round_;
      const std::function<void()>& work = *work_;
      ++num_working_;
      lock.unlock();
      work();
      lock.lock();
      --num_working_;
      if (num_working_ == 0) done_.notify_one();
    }
  }

  std::mutex in_use_;
  std::mutex mutex_;
  std::condition_variable wake_up_;
  std::condition_variable done_;
  const std::function<void()>* work_ = nullptr;
  std::uint64_t round_ = 0;
  std::size_t num_working_ = 0;  // threads of ours that have begun and not returned
};

}  // namespace

void on_all_cores(const std::function<void()>& work) {
  // A child process has none of its parent's threads: it works alone.
  static const pid_t owner = getpid();
  static Cores& cores = *new Cores;  // never destroyed: its threads sleep in it to the end
  if (getpid() == owner) {
    cores.run(work);
  } else {
    work();
  }
}

}  // namespace pagelab::simt
