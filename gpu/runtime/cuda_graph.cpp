#include "gpu/runtime/cuda_graph.h"

#include "gpu/runtime/cuda_check.h"

namespace pagelab {
namespace {

// Launches of a captured stream are noted and do not run. CUDA's default stream, which pagelab uses otherwise, cannot
// be captured.
class CapturedStream {
 public:
  CapturedStream() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    // Relaxed: what must not happen meanwhile, Device refuses; to load a kernel at its first launch is fine.
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  }
  // Also where something was thrown: a capture must come to an end.
  ~CapturedStream() {
    if (is_capturing_) {
      cudaGraph_t unfinished = nullptr;
      cudaStreamEndCapture(stream_, &unfinished);
      if (unfinished != nullptr) cudaGraphDestroy(unfinished);
      cudaGetLastError();
    }
    cudaStreamDestroy(stream_);
  }
  CapturedStream(const CapturedStream&) = delete;
  CapturedStream& operator=(const CapturedStream&) = delete;

  cudaStream_t stream() const { return stream_; }
  cudaGraph_t end() {
    cudaGraph_t graph = nullptr;
    is_capturing_ = false;
    check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    return graph;
  }

 private:
  cudaStream_t stream_ = nullptr;
  bool is_capturing_ = true;
};

// The list of launches that the simulator would have, and CUDA's stream beside it.
class StreamRecorder final : public LaunchList {
 public:
  explicit StreamRecorder(cudaStream_t stream) : stream_(stream) {}
  void* stream() const override { return stream_; }

 private:
  cudaStream_t stream_;
};

class CudaGraph final : public Graph {
 public:
  // Takes the list, not the graph.
  CudaGraph(std::unique_ptr<LaunchList> list, cudaGraph_t graph) : Graph(std::move(list)) {
    check(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
  }
  ~CudaGraph() override { cudaGraphExecDestroy(executable_); }

  void replay() override {
    refuse_while_recording("a graph cannot be replayed");
    check(cudaGraphLaunch(executable_, nullptr), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t executable_ = nullptr;  // the graph, made ready to be launched often
};

// Freed once it has been made ready.
struct OwnedGraph {
  explicit OwnedGraph(cudaGraph_t made) : graph(made) {}
  ~OwnedGraph() { cudaGraphDestroy(graph); }
  OwnedGraph(const OwnedGraph&) = delete;
  OwnedGraph& operator=(const OwnedGraph&) = delete;

  cudaGraph_t graph;
};

}  // namespace

std::unique_ptr<Graph> capture_cuda_graph(const std::function<void()>& work) {
  refuse_while_recording("another recording cannot begin");
  CapturedStream captured;
  auto list = std::make_unique<StreamRecorder>(captured.stream());
  record_launches(*list, work);
  const OwnedGraph recorded(captured.end());
  return std::make_unique<CudaGraph>(std::move(list), recorded.graph);
}

}  // namespace pagelab
