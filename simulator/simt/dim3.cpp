#include "simulator/simt/dim3.h"

namespace pagelab::simt {

constinit thread_local uint3 threadIdx;
constinit thread_local uint3 blockIdx;
constinit thread_local dim3 blockDim;
constinit thread_local dim3 gridDim;

uint3 coordinates_of(std::uint64_t flat_index, dim3 extent) {
  uint3 coordinates;
  coordinates.x = static_cast<unsigned int>(flat_index % extent.x);
  coordinates.y = static_cast<unsigned int>(flat_index / extent.x % extent.y);
  coordinates.z = static_cast<unsigned int>(flat_index / extent.x / extent.y);
  return coordinates;
}

std::string to_string(uint3 coordinates) {
  return "(" + std::to_string(coordinates.x) + ", " + std::to_string(coordinates.y) + ", " +
         std::to_string(coordinates.z) + ")";
}

std::string to_string(dim3 extent) { return to_string(uint3{extent.x, extent.y, extent.z}); }

}  // namespace pagelab::simt
