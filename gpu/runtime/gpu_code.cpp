#include "gpu/runtime/gpu_code.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>

namespace pagelab {
namespace {

// "90a-real" → number 90, suffix 'a', machine code only.
struct Architecture {
  int number = 0;       // 10 · major + minor
  char suffix = '\0';   // 'a': this very chip; 'f': this generation; none: see below
  bool has_ptx = true;  // translated by the driver, on this generation and newer ones
  bool has_machine_code = true;
};

Architecture parse_architecture(const std::string& text) {
  Architecture architecture;
  architecture.number = std::atoi(text.c_str());
  const std::size_t after_digits = text.find_first_not_of("0123456789");
  if (after_digits != std::string::npos &&
      std::isalpha(static_cast<unsigned char>(text[after_digits]))) {
    architecture.suffix = text[after_digits];
  }
  if (text.ends_with("-real")) architecture.has_ptx = false;
  if (text.ends_with("-virtual")) architecture.has_machine_code = false;
  return architecture;
}

bool runs_on(const Architecture& architecture, ComputeCapability device) {
  const int device_number = 10 * device.major + device.minor;
  if (architecture.suffix == 'a') return architecture.number == device_number;
  const bool is_same_generation = architecture.number / 10 == device.major;
  const bool is_not_newer = architecture.number <= device_number;
  if (architecture.suffix == 'f') return is_same_generation && is_not_newer;
  const bool machine_code_runs =
      architecture.has_machine_code && is_same_generation && is_not_newer;
  return machine_code_runs || (architecture.has_ptx && is_not_newer);
}

}  // namespace

std::string why_code_does_not_run(const std::string& architectures,
                                  const std::string& device_name,
                                  ComputeCapability device) {
  std::size_t begin = 0;
  while (begin < architectures.size()) {
    const std::size_t separator = architectures.find_first_of(";,", begin);
    const std::size_t end = separator == std::string::npos ? architectures.size() : separator;
    const std::string text = architectures.substr(begin, end - begin);
    if (!text.empty() && runs_on(parse_architecture(text), device)) return "";
    begin = end + 1;
  }
  return fmt::format(
      "pagelab's GPU code was built for {}, which does not run on {} (compute capability {}.{}); "
      "configure with -DPAGELAB_CUDA_ARCHITECTURES={}{}-virtual",
      architectures, device_name, device.major, device.minor, device.major, device.minor);
}

}  // namespace pagelab
