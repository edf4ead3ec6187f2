// faults NAME [--sound] [--target simulator|cuda]: one of the fault kernels, of this folder or of meetings, for
// compute-sanitizer.
// faults --list: their names.

#include <cstdio>
#include <cstring>
#include <string>

#include "reference/contract/error.h"
#include "tests/simulator/faults/run_fault.h"
#include "tests/simulator/meetings/meeting_faults.h"

using namespace pagelab;

namespace {

constexpr const char* kUsage =
    "faults --list | faults NAME [--sound] [--target simulator|cuda]\n"
    "Exit status: 0 nothing was reported, 1 a fault was reported, 2 wrong use.\n";

std::shared_ptr<Device> device_of(const std::string& target) {
  if (target == "simulator") return checked_simulator_device();
  if (target == "cuda") return cuda_device();
  throw Error("--target is `" + target + "`, but it must be simulator or cuda.");
}

const Fault& fault_named(const std::vector<Fault>& faults, const std::string& name) {
  for (const Fault& fault : faults) {
    if (name == fault.name) return fault;
  }
  throw Error("there is no fault named `" + name + "`; faults --list says which there are.");
}

int run(int argc, char** argv) {
  std::string name;
  std::string target = "simulator";
  Twin twin = Twin::kFaulty;
  bool lists = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--sound") {
      twin = Twin::kSound;
    } else if (argument == "--list") {
      lists = true;
    } else if (argument == "--target" && i + 1 < argc) {
      target = argv[++i];
    } else if (name.empty() && !argument.starts_with("-")) {
      name = argument;
    } else {
      throw Error("`" + argument + "` is not understood. Usage:\n" + kUsage);
    }
  }
  if (name.empty() != lists) throw Error(std::string("a name is needed. Usage:\n") + kUsage);

  const std::shared_ptr<Device> device = device_of(target);
  std::vector<Fault> faults = faults_of(*device);
  const std::vector<Fault> of_meetings = meeting_faults_of(*device);
  faults.insert(faults.end(), of_meetings.begin(), of_meetings.end());
  if (lists) {
    for (const Fault& fault : faults) std::printf("%s\n", fault.name);
    return 0;
  }
  const FaultRun outcome = run_fault(device, fault_named(faults, name), twin);
  std::printf("%s\n", outcome.error.empty() ? "nothing was reported" : outcome.error.c_str());
  return outcome.error.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "faults: %s\n", error.what());
    return 2;
  }
}
