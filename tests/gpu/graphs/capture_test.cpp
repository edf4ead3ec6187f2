// What a recording is: nothing runs, everything passed by value stays as it was, everything in device memory is read
// when it is replayed; and what a device refuses to record.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gpu/backends/catalog.h"
#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device_array.h"
#include "gpu/runtime/graph.h"
#include "reference/contract/error.h"
#include "tests/gpu/devices.h"
#include "tests/support/random_step.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

using Floats = std::vector<float>;

Floats values_of(const DeviceArray& array) {
  Floats values(array.bytes() / sizeof(float));
  array.copy_to(values.data());
  return values;
}

// The transpose of a 2 x 3 matrix, whose steps are easy to follow.
struct Transposition {
  explicit Transposition(const std::shared_ptr<Device>& on)
      : device(on),
        input(DeviceArray::copy_of(on, Floats{1, 2, 3, 4, 5, 6}, "input")),
        output(DeviceArray::copy_of(on, Floats(6, 0.0f), "output")) {
    params.input = input.as<float>();
    params.output = output.as<float>();
    params.rows = 2;
    params.columns = 3;
  }
  void launch() const { kernels_of(*device).transpose[0].launch(params); }

  std::shared_ptr<Device> device;
  DeviceArray input;
  DeviceArray output;
  TransposeParams params;
};

// The sentence with which a capture is refused; empty if it is not.
std::string refusal_of(Device& device, const std::function<void()>& work) {
  try {
    device.capture(work);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void check_recording(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  Transposition work(device);
  const auto graph = device->capture([&] { work.launch(); });
  CHECK(values_of(work.output) == Floats(6, 0.0f));  // nothing has run
  CHECK(to_string(graph->launches().at(0)) == "transpose/1_naive (1, 1, 1) x (32, 8, 1)");
  CHECK(graph->launches().size() == 1);
  graph->replay();
  CHECK(values_of(work.output) == Floats{1, 4, 2, 5, 3, 6});
  work.input.copy_from(Floats{7, 7, 7, 8, 8, 8}.data());
  graph->replay();
  CHECK(values_of(work.output) == Floats{7, 8, 7, 8, 7, 8});
}

// The classic mistake: the next step lies in an array of its own, or in a variable on the host.
void check_baked_values(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  Transposition work(device);
  const auto graph = device->capture([&] { work.launch(); });
  const DeviceArray next_input = DeviceArray::copy_of(device, Floats(6, 9.0f), "input");
  work.params.input = next_input.as<float>();
  work.params.rows = 3;
  work.params.columns = 2;
  graph->replay();
  CHECK(values_of(work.output) == Floats{1, 4, 2, 5, 3, 6});  // the old array, the old sizes
}

void check_refused_work(const std::shared_ptr<Device>& device) {
  CAPTURE(device->name());
  const std::string reason =
      " while launches are recorded: a graph holds launches alone, and repeats their addresses. "
      "Allocate arrays that outlive the graph before the capture, and write to them before each "
      "replay.";
  Transposition work(device);
  CHECK(refusal_of(*device, [&] { DeviceArray(device, 64, "workspace"); }) ==
        "`workspace` cannot be allocated" + reason);
  CHECK(refusal_of(*device, [&] { work.input.copy_from(Floats(6).data()); }) ==
        "nothing can be copied to the device" + reason);
  CHECK(refusal_of(*device, [&] { values_of(work.output); }) ==
        "nothing can be copied to the host" + reason);
  CHECK(refusal_of(*device, [&] { device->synchronize(); }) ==
        "nothing can be waited for" + reason);
  CHECK(refusal_of(*device, [&] { device->capture([] {}); }) ==
        "another recording cannot begin" + reason);
  const auto graph = device->capture([&] { work.launch(); });
  CHECK(refusal_of(*device, [&] { graph->replay(); }) == "a graph cannot be replayed" + reason);

  auto short_lived = std::make_unique<Transposition>(device);
  CHECK(refusal_of(*device,
                   [&] {
                     short_lived->launch();
                     short_lived.reset();
                   }) ==
        "an array was freed while launches were recorded, and a replay would use its address. Give "
        "the launches arrays that outlive the graph.");
  // Whatever was refused, launches run again.
  work.launch();
  CHECK(values_of(work.output) == Floats{1, 4, 2, 5, 3, 6});
}

// A backend's own forward makes its arrays anew in every step.
void check_backends_refuse(const std::shared_ptr<Device>& device) {
  RandomStepOptions options;
  options.head_size = options.head_size_v = 16;
  options.num_reqs = 2;
  const AttentionStep step = random_step(options, 5);
  for (const char* name : {"FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION"}) {
    CAPTURE(name);
    const auto impl = make_backend(name, device->target())->make_impl(step.cache);
    Tensor output;
    Tensor lse;
    const std::string sentence = refusal_of(*device, [&] {
      impl->forward(step.query, step.key, step.value, step.metadata, step.variant, output, lse);
    });
    CHECK_MESSAGE(
        sentence.find("cannot be allocated while launches are recorded") != std::string::npos,
        sentence);
  }
}

}  // namespace

TEST_SUITE("captured launches") {
  TEST_CASE(
      "a captured launch runs when its graph is replayed and reads what is there then "
      "(simulators)") {
    for (const auto& device : simulators()) check_recording(device);
  }
  TEST_CASE(
      "a captured launch runs when its graph is replayed and reads what is there then (GPU)") {
    if (const auto device = gpu_or_skip()) check_recording(device);
  }

  TEST_CASE("U2: a graph keeps the addresses and the numbers of its recording (simulators)") {
    for (const auto& device : simulators()) check_baked_values(device);
  }
  TEST_CASE("U2: a graph keeps the addresses and the numbers of its recording (GPU)") {
    if (const auto device = gpu_or_skip()) check_baked_values(device);
  }

  TEST_CASE("U2: work that allocates or frees or copies or waits cannot be captured (simulators)") {
    for (const auto& device : simulators()) check_refused_work(device);
  }
  TEST_CASE("U2: work that allocates or frees or copies or waits cannot be captured (GPU)") {
    if (const auto device = gpu_or_skip()) check_refused_work(device);
  }

  TEST_CASE("U2: a backend that makes its arrays in each step cannot be captured (simulator)") {
    check_backends_refuse(simulator_device());
  }
  TEST_CASE("U2: a backend that makes its arrays in each step cannot be captured (GPU)") {
    if (const auto device = gpu_or_skip()) check_backends_refuse(device);
  }

  TEST_CASE("a launch that a GPU would refuse is refused when it is recorded") {
    for (const auto& device : simulators()) {
      Transposition work(device);
      work.params.threads_per_cta = 2048;
      CHECK_THROWS_AS(device->capture([&] { work.launch(); }), Error);
    }
  }
}
