// A Llama whose layers are kernels, run launch by launch, by pieces and as a whole: the logits that it has on the CPU,
// bit for bit. And replays that read what lies in the persistent arrays, and nothing else.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gpu/backends/catalog.h"
#include "gpu/backends/device_llama.h"
#include "gpu/backends/flash_attn.h"
#include "gpu/backends/flashinfer.h"
#include "gpu/backends/flex_attention.h"
#include "gpu/backends/naive.h"
#include "gpu/backends/triton_attn.h"
#include "simulator/engine/generation/recorded_model.h"
#include "simulator/engine/step/prepared_step.h"
#include "tests/gpu/devices.h"
#include "tests/reference/model/model_files.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kBlocksPerRequest = 4;

using Backends = std::vector<std::unique_ptr<AttentionBackend>>;

Backends backends_on(const std::shared_ptr<Device>& device) {
  Backends backends;
  backends.push_back(make_naive_backend(device));
  backends.push_back(make_flash_attn_backend(device));
  backends.push_back(make_flashinfer_backend(device));
  backends.push_back(make_triton_attn_backend(device));
  backends.push_back(make_flex_attention_backend(device));
  return backends;
}

// Steps of up to four requests: two prompts, another one beside two decodes, decodes, and both.
struct ServedStep {
  std::vector<std::int64_t> computed;
  std::vector<std::int64_t> scheduled;
};
const std::vector<ServedStep>& served_steps() {
  static const std::vector<ServedStep> kSteps = {{{0, 0}, {5, 9}},
                                                 {{5, 9, 0}, {1, 1, 12}},
                                                 {{6, 10, 12}, {1, 1, 1}},
                                                 {{7, 11, 13, 0}, {1, 1, 1, 7}}};
  return kSteps;
}

std::vector<StepRequest> requests_of(const ServedStep& step) {
  std::vector<StepRequest> requests;
  for (std::size_t i = 0; i < step.computed.size(); ++i) {
    StepRequest request;
    request.scheduled = {.num_scheduled_tokens = step.scheduled[i],
                         .num_computed_tokens = step.computed[i],
                         .num_prompt_tokens = step.computed[i] + step.scheduled[i]};
    for (std::int64_t block = 0; block < kBlocksPerRequest; ++block) {
      request.block_ids.push_back(
          static_cast<std::int32_t>(1 + i * kBlocksPerRequest + (3 * block + 1) % 4));
    }
    requests.push_back(request);
  }
  return requests;
}

// The batch of a step, in the scheduler's order; the logits after each request's last token are wanted.
LlamaBatch batch_of(const ServedStep& step, const BuiltStep& built) {
  LlamaBatch batch;
  batch.metadata = built.metadata;
  batch.positions = built.positions;
  for (std::size_t i = 0; i < step.computed.size(); ++i) {
    for (std::int64_t token = 0; token < step.scheduled[i]; ++token) {
      const auto position = static_cast<std::size_t>(step.computed[i] + token);
      batch.token_ids.push_back(static_cast<std::int32_t>((13 * i + 7 * position) % 65));
    }
    batch.logits_indices.push_back(static_cast<std::int64_t>(batch.token_ids.size()) - 1);
  }
  batch.token_ids.resize(batch.metadata.slot_mapping.size(), 0);
  batch.positions.resize(batch.metadata.slot_mapping.size(), 0);
  return batch;
}

KvCacheSpec cache_spec() { return tiny_llama().kv_cache_spec(17, kBlockSize); }

// What the model on the CPU finds, with the backend's attention.
std::vector<RowMatrix> logits_by_the_cpu(const AttentionBackend& backend) {
  const AttentionLayers layers = tiny_llama().make_attention_layers(backend, cache_spec());
  std::vector<RowMatrix> logits;
  for (const ServedStep& step : served_steps()) {
    const BuiltStep built = build_step(requests_of(step), {.block_size = kBlockSize});
    logits.push_back(tiny_llama().forward(batch_of(step, built), layers));
  }
  return logits;
}

// The first model runner's graphs; its order is the scheduler's.
GraphWorker worker_of(CUDAGraphMode mode) {
  return GraphWorker({.mode = mode,
                      .capture_sizes = {1, 2, 4, 8, 16},
                      .max_num_seqs = 8,
                      .cascade = CascadeSetting{}});
}

std::unique_ptr<DeviceModel> device_model(const AttentionBackend& backend) {
  return dynamic_cast<const DeviceModelBackend&>(backend).make_device_model(
      tiny_llama(), {.max_num_tokens = 16,
                     .max_num_reqs = 8,
                     .max_blocks_per_req = kBlocksPerRequest,
                     .cache = cache_spec()});
}

PreparedStep prepared(const ServedStep& step, const GraphWorker& worker) {
  return prepare_step(requests_of(step),
                      {.block_size = kBlockSize, .max_blocks_per_req = kBlocksPerRequest},
                      worker.dispatcher());
}

bool has_bits_of(const RowMatrix& got, const RowMatrix& expected) {
  if (got.rows() != expected.rows() || got.cols() != expected.cols()) return false;
  for (Eigen::Index i = 0; i < got.size(); ++i) {
    if (bits_of(got.data()[i]) != bits_of(expected.data()[i])) return false;
  }
  return true;
}

void check_mode(const AttentionBackend& backend,
                const std::vector<RowMatrix>& expected,
                CUDAGraphMode mode) {
  const std::string name = to_string(mode);
  CAPTURE(name);
  const GraphWorker worker = worker_of(mode);
  RecordedModel model(device_model(backend), worker);
  for (std::size_t i = 0; i < served_steps().size(); ++i) {
    CAPTURE(i);
    const PreparedStep step = prepared(served_steps()[i], worker);
    CHECK(
        has_bits_of(model.run(step.dispatch, batch_of(served_steps()[i], step.step)), expected[i]));
  }
}

void check_backends(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  for (const auto& backend : backends_on(device)) {
    const std::string name = backend->name();
    CAPTURE(name);
    const std::vector<RowMatrix> expected = logits_by_the_cpu(*backend);
    // FLASHINFER splits mixed batches on the host, so vLLM lowers FULL to the last of these.
    if (name != "FLASHINFER") check_mode(*backend, expected, CUDAGraphMode::kFull);
    check_mode(*backend, expected, CUDAGraphMode::kFullAndPiecewise);
    check_mode(*backend, expected, CUDAGraphMode::kFullDecodeOnly);
  }
}

const CudagraphDispatch kFourDecodes = {CUDAGraphMode::kFull,
                                        {.num_tokens = 4, .num_reqs = 4, .uniform = true}};

void check_lists(const std::shared_ptr<Device>& device) {
  const auto backend = make_flash_attn_backend(device);
  RecordedModel model(device_model(*backend), worker_of(CUDAGraphMode::kFullAndPiecewise));
  const std::unique_ptr<DeviceModel> other = device_model(*backend);
  StepGraphs graphs(device);
  other->set_graph_shape(4, 4, 1);
  graphs.capture(kFourDecodes, other->parts());
  std::vector<std::string> names;
  for (const RecordedLaunch& launch : graphs.launches(kFourDecodes))
    names.push_back(launch.call.kernel);
  const std::vector<std::string> before = {
      "model/rms_norm",         "model/linear",           "model/linear",        "model/linear",
      "model/rotary_embedding", "model/rotary_embedding", "model/round_to_float"};
  const std::vector<std::string> attention = {"cache_write/1_naive", "cache_write/1_naive",
                                              "paged_prefill/1_tiled"};
  const std::vector<std::string> after = {"model/linear", "model/rms_norm",     "model/linear",
                                          "model/linear", "model/silu_and_mul", "model/linear"};
  std::vector<std::string> expected = {"model/gather_rows"};
  for (int layer = 0; layer < 4; ++layer) {
    for (const auto* part : {&before, &attention, &after}) {
      expected.insert(expected.end(), part->begin(), part->end());
    }
  }
  expected.push_back("model/rms_norm");
  CHECK(names == expected);
  CHECK(names.size() == 4 * 16 + 2);

  const StepGraphs::Counts full = model.counts(kFourDecodes);
  CHECK(full.graphs == 1);
  CHECK(full.recorded_launches == 4 * 16 + 2);
  const StepGraphs::Counts pieces = model.counts({CUDAGraphMode::kPiecewise, {.num_tokens = 16}});
  CHECK(pieces.graphs == 5);
  CHECK(pieces.recorded_launches == 4 * 13 + 2);
  CHECK(pieces.eager_parts == 4);
  // FULL for 1, 2, 4 and 8 decodes, and PIECEWISE for those and 16 tokens.
  CHECK(model.recorded().num_steps == 4 + 5);
  CHECK(model.recorded().num_graphs == 4 + 5 * 5);
  CHECK(model.recorded().num_launches == 4 * 66 + 5 * 54);
}

// Steps up to the first of three decodes, which is not replayed yet.
struct BeforeDecodes {
  explicit BeforeDecodes(const std::shared_ptr<Device>& device)
      : backend(make_naive_backend(device)), worker(worker_of(CUDAGraphMode::kFullAndPiecewise)) {
    auto llama = device_model(*backend);
    arrays = static_cast<const DeviceLlama*>(llama.get());
    model = std::make_unique<RecordedModel>(std::move(llama), worker);
    for (std::size_t i = 0; i < 2; ++i) {
      const PreparedStep step = prepared(served_steps()[i], worker);
      model->run(step.dispatch, batch_of(served_steps()[i], step.step));
    }
  }
  std::unique_ptr<AttentionBackend> backend;
  GraphWorker worker;
  std::unique_ptr<RecordedModel> model;
  const DeviceLlama* arrays = nullptr;
};

void check_what_is_read(const std::shared_ptr<Device>& device) {
  BeforeDecodes run(device);
  const ServedStep& decodes = served_steps()[2];
  const PreparedStep step = prepared(decodes, run.worker);
  REQUIRE(step.dispatch.mode == CUDAGraphMode::kFull);
  const LlamaBatch batch = batch_of(decodes, step.step);
  const RowMatrix right = run.model->run(step.dispatch, batch);

  // Another token in the batch, and so in the persistent array: other logits, in that row and in no other.
  LlamaBatch other = batch;
  other.token_ids[1] = (other.token_ids[1] + 1) % 65;
  const RowMatrix changed = run.model->run(step.dispatch, other);
  CHECK(has_bits_of(changed.row(0), right.row(0)));
  CHECK_FALSE(has_bits_of(changed.row(1), right.row(1)));
  CHECK(has_bits_of(changed.row(2), right.row(2)));

  // Stale metadata: the lengths of the step before hide each row's own key.
  LlamaBatch old_metadata = batch;
  for (std::size_t row = 0; row < 3; ++row) {
    --old_metadata.metadata.seq_lens[row];
    old_metadata.metadata.slot_mapping[row] = kNoSlot;
  }
  CHECK_FALSE(has_bits_of(run.model->run(step.dispatch, old_metadata), right));
  CHECK(has_bits_of(run.model->run(step.dispatch, batch), right));

  // Spoiled behind update()'s back: what a replay reads is this array.
  const DeviceArray& token_ids = run.arrays->token_ids();
  const std::vector<std::int32_t> spoiled = {64, 64, 64, 64};
  device->copy_to_device(token_ids.data(), spoiled.data(), 4 * sizeof(std::int32_t));
  LlamaBatch all_64 = batch;
  all_64.token_ids = spoiled;
  StepGraphs graphs(device);
  run.model->model().set_graph_shape(4, 4, 1);
  graphs.capture(kFourDecodes, run.model->model().parts());
  graphs.replay(kFourDecodes);
  const Tensor logits = run.model->model().logits();
  const RowMatrix got =
      Eigen::Map<const RowMatrix>(logits.data<double>(), right.rows(), right.cols());
  CHECK(has_bits_of(got, run.model->run(step.dispatch, all_64)));
  CHECK_FALSE(has_bits_of(got, right));
}

}  // namespace

TEST_SUITE("a Llama of kernels") {
  TEST_CASE("its logits have the bits of the CPU's in every mode on every backend (simulator)") {
    check_backends(simulator_device());
  }
  TEST_CASE("its logits have the bits of the CPU's in every mode on every backend (GPU)") {
    if (const auto device = gpu_or_skip()) check_backends(device);
  }
#if defined(PAGELAB_HAS_CHECKED_KERNELS)
  TEST_CASE("no padded row makes a kernel read what nobody wrote (checked simulator)") {
    // Each way to be recorded once: a kernel, a kernel with pages of its own, one with lists of its own.
    for (const auto& backend : backends_on(checked_simulator_device())) {
      const std::string name = backend->name();
      if (name == "NAIVE" || name == "TRITON_ATTN") continue;
      CAPTURE(name);
      check_mode(*backend, logits_by_the_cpu(*backend), CUDAGraphMode::kFullAndPiecewise);
    }
  }
#endif

  TEST_CASE("a layer is sixteen launches of which thirteen are recorded by pieces (simulator)") {
    check_lists(simulator_device());
  }
  TEST_CASE("a layer is sixteen launches of which thirteen are recorded by pieces (GPU)") {
    if (const auto device = gpu_or_skip()) check_lists(device);
  }

  TEST_CASE("U1: a replay reads the tokens and the metadata of its own step (simulator)") {
    check_what_is_read(simulator_device());
  }
  TEST_CASE("U1: a replay reads the tokens and the metadata of its own step (GPU)") {
    if (const auto device = gpu_or_skip()) check_what_is_read(device);
  }

  TEST_CASE("U2: attention that passes through the host is in no full graph") {
    const auto backend = make_flashinfer_backend(simulator_device());
    CHECK(refusal_of([&] {
            RecordedModel(device_model(*backend), worker_of(CUDAGraphMode::kFull));
          }).starts_with("nothing can be copied to the host while launches are recorded"));
  }

  TEST_CASE("a batch that does not fit is refused and nothing is written") {
    BeforeDecodes run(simulator_device());
    const PreparedStep step = prepared(served_steps()[2], run.worker);
    const LlamaBatch batch = batch_of(served_steps()[2], step.step);
    const RowMatrix right = run.model->run(step.dispatch, batch);
    LlamaBatch wrong = batch;
    wrong.token_ids[2] = 65;
    CHECK(refusal_of([&] { run.model->run(step.dispatch, wrong); }) ==
          "token_ids[2] is 65, but the vocabulary has 65 tokens.");
    wrong = batch;
    wrong.positions[0] = 1024;
    CHECK(refusal_of([&] { run.model->run(step.dispatch, wrong); }) ==
          "positions[0] is 1024, but the model has positions 0 to 1023.");
    KvCacheSpec other_heads = cache_spec();
    other_heads.num_kv_heads = 4;
    CHECK(refusal_of([&] {
            dynamic_cast<const DeviceModelBackend&>(*run.backend)
                .make_device_model(tiny_llama(), {.max_num_tokens = 16,
                                                  .max_num_reqs = 8,
                                                  .max_blocks_per_req = 4,
                                                  .cache = other_heads});
          }) == "the cache is for 4 KV heads of 32 and 32 elements, but the model has 2 of 32.");
  }
}
