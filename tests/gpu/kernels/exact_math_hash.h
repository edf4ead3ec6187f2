/// \file
/// A kernel that hashes the results of exact_math.h's functions and of ex2_approx, so that "the GPU has the same bits
/// for all 2^32 floats" is one number to compare.
#pragma once

#include <cstdint>

namespace pagelab::test {

/// The functions of exact_math.h, and that of gpu/device/ex2.h.
enum class ExactFunctionId { kExp2, kLog2, kLog, kTanh, kEx2Approx };

/// What the kernel gets. Thread i of num_threads takes the inputs i · stride, (i + num_threads) ·
/// stride, … as bit patterns below 2^32.
struct ExactMathHashParams {
  ExactFunctionId function = ExactFunctionId::kExp2;  ///< what is computed
  std::uint64_t stride = 1;                           ///< distance of two inputs
  std::int64_t num_threads = 1;                       ///< also the length of partial_hashes
  std::uint64_t* partial_hashes = nullptr;  ///< [num_threads] device; they sum up to the hash
};

/// Launches the kernel.
using ExactMathHash = void (*)(const ExactMathHashParams& params);

}  // namespace pagelab::test

namespace pagelab::on_cuda {
/// Launches the kernel that nvcc compiled.
void exact_math_hash(const test::ExactMathHashParams& params);
}  // namespace pagelab::on_cuda

namespace pagelab::on_simulator {
/// Runs the kernel that g++ compiled.
void exact_math_hash(const test::ExactMathHashParams& params);
}  // namespace pagelab::on_simulator

namespace pagelab::on_checked_simulator {
/// Runs the kernel that g++ compiled with every access checked.
void exact_math_hash(const test::ExactMathHashParams& params);
}  // namespace pagelab::on_checked_simulator
