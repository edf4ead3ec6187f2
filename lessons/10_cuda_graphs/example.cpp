// Lesson 10: which graph replays a step, what graphs of two layers hold, what a replay sees of a new step, and a number
// that was baked in by mistake.

#include <cstdio>
#include <string>

#include "lessons/10_cuda_graphs/decodes.h"
#include "simulator/engine/cudagraph/cudagraph_dispatcher.h"
#include "simulator/engine/cudagraph/step_graphs.h"

using namespace pagelab;
using namespace pagelab::lesson_10;

void print_dispatch(const CudagraphDispatcher& dispatcher) {
  const struct {
    const char* batch;
    StepShape shape;
    bool cascade;
  } steps[] = {{"3 decodes", {3, true}, false},
               {"3 decodes in a cascade", {3, true}, true},
               {"2 decodes, a chunk of 9", {11, false}, false},
               {"2 decodes, a chunk of 30", {32, false}, false}};
  std::printf("1. FULL_AND_PIECEWISE, sizes 1 2 4 8 16\n");
  for (const auto& step : steps) {
    const CudagraphDispatch graph = dispatcher.dispatch(step.shape, {.full = !step.cascade});
    std::printf("   %-25s %s\n", step.batch, to_string(graph).c_str());
  }
}

void print_counts(const StepGraphs& graphs, const CudagraphDispatch& graph) {
  const StepGraphs::Counts counts = graphs.counts(graph);
  std::printf("   %-10s graphs %ld, kernels in them %ld, attention layers launched anew %ld\n",
              to_string(graph.mode).c_str(), counts.graphs, counts.recorded_launches,
              counts.eager_parts);
}

// Writes a step in place, replays, and prints the rows of the second layer.
template <typename Replay>
void print_replay(LayerStack& layers, const std::vector<std::int64_t>& lens, const Replay& replay) {
  layers.batch().update(decodes_of(lens, kMaxReqs));
  replay();
  const Tensor output = layers.output(1, kMaxReqs);
  for (std::size_t i = 0; i < kMaxReqs; ++i) {
    std::printf(" %4ld:%5.1f", i < lens.size() ? lens[i] : 0, output.data<float>()[i * kHeadSize]);
  }
  std::printf("\n");
}

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "This lesson takes no arguments, so %s is too much.\n", argv[1]);
    return 2;
  }
  const CudagraphDispatcher dispatcher({.capture_sizes = {1, 2, 4, 8, 16}, .max_num_seqs = 8});
  print_dispatch(dispatcher);
  LayerStack layers = two_layers();
  write_inputs(layers);
  StepGraphs graphs(simulator_device());
  const CudagraphDispatch full = dispatcher.dispatch({4, true});
  const CudagraphDispatch pieces = dispatcher.dispatch({4, false});
  layers.set_shape(layers.shape_of_graph(4, 4, 1));
  graphs.capture(full, layers.parts());
  graphs.capture(pieces, layers.parts());
  std::printf("2. 4 tokens through two layers\n");
  print_counts(graphs, pieces);
  print_counts(graphs, full);
  for (std::size_t i = 0; i < 6; ++i) {
    std::printf("   %s\n", to_string(graphs.launches(full)[i]).c_str());
  }

  std::printf("3. The full graph\n");
  print_replay(layers, {64, 1, 1}, [&] { graphs.replay(full); });
  print_replay(layers, {64, 50, 40}, [&] { graphs.replay(full); });
  std::printf("4. Recorded with the shape of the first step: 3 requests\n");
  layers.batch().update(decodes_of({64, 1, 1}, 3));
  layers.set_shape(launch_shape_of(decodes_of({64, 1, 1}, 3)));
  const auto too_small = simulator_device()->capture([&] { run_eagerly(layers.parts()); });
  print_replay(layers, {64, 50, 40, 30}, [&] { too_small->replay(); });
}
