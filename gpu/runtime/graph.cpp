#include "gpu/runtime/graph.h"

#include "reference/contract/error.h"

namespace pagelab {
namespace {

// Whether an array was freed since the recording began.
thread_local bool was_freed = false;

// This host thread's launches go to a list for as long as this lives, whatever is thrown.
class ScopedRecorder {
 public:
  explicit ScopedRecorder(LaunchList& list) {
    refuse_while_recording("another recording cannot begin");
    launch_recorder = &list;
    was_freed = false;
  }
  ~ScopedRecorder() { launch_recorder = nullptr; }
  ScopedRecorder(const ScopedRecorder&) = delete;
  ScopedRecorder& operator=(const ScopedRecorder&) = delete;
};

}  // namespace

void record_launches(LaunchList& list, const std::function<void()>& work) {
  {
    const ScopedRecorder recorder(list);
    work();
  }
  if (was_freed) {
    throw Error(
        "an array was freed while launches were recorded, and a replay would use its address. Give "
        "the launches arrays that outlive the graph.");
  }
}

void refuse_while_recording(const std::string& what) {
  if (launch_recorder == nullptr) return;
  throw Error(what +
              " while launches are recorded: a graph holds launches alone, and repeats their "
              "addresses. Allocate arrays that outlive the graph before the capture, and write to "
              "them before each replay.");
}

void note_free() noexcept {
  if (launch_recorder != nullptr) was_freed = true;
}

}  // namespace pagelab
