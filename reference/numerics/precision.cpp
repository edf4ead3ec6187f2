#include "reference/numerics/precision.h"

#include <fmt/format.h>

namespace pagelab {

Precision Precision::canonical_float() { return Precision{}; }

Precision Precision::canonical_double() {
  Precision precision;
  precision.arithmetic = DType::kFloat64;
  precision.probabilities = DType::kFloat64;
  precision.output = DType::kFloat64;
  return precision;
}

Precision Precision::online_float(std::int64_t keys_per_tile) {
  Precision precision;
  precision.keys_per_rescaling = keys_per_tile;
  return precision;
}

Precision Precision::tensor_core(DType operands, DType output, std::int64_t keys_per_tile) {
  Precision precision;
  precision.probabilities = operands;
  precision.output = output;
  precision.keys_per_rescaling = keys_per_tile;
  precision.tensor_core_sums = true;
  precision.exponential_ulps = kEx2ApproxUlps;
  return precision;
}

std::string to_string(const Precision& precision) {
  return fmt::format("{} arithmetic{}, {} probabilities, {} output",
                     to_string(precision.arithmetic),
                     precision.tensor_core_sums ? " on tensor cores" : "",
                     to_string(precision.probabilities), to_string(precision.output));
}

}  // namespace pagelab
