/// \file
/// The teaching kernels on host arrays: each function copies its input to a device, launches one rung
/// and fetches the result. Used by the tests of the rungs and by the program that writes golden tables.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/backends/kernels_of.h"
#include "gpu/runtime/device.h"

namespace pagelab::test {

/// Numbers of threads that thread blocks are tried with: powers of two, others, least and most.
inline constexpr unsigned int kThreadsPerCta[] = {32, 64, 96, 128, 256, 480, 1024};

/// The sum of values.
/// \param device           where the kernel runs
/// \param rung             of block_reduce, compiled for that device
/// \param values           any number of them
/// \param threads_per_cta  threads of a thread block
float sum_on(const std::shared_ptr<Device>& device,
             const Rung<BlockReduceParams>& rung,
             const std::vector<float>& values,
             unsigned int threads_per_cta);

/// The inclusive prefix sums of values.
/// \tparam Element         std::int32_t or float
/// \param device           where the kernel runs
/// \param rung             of scan, compiled for that device
/// \param values           any number of them
/// \param threads_per_cta  threads of a thread block
template <typename Element>
std::vector<Element> scan_on(const std::shared_ptr<Device>& device,
                             const Rung<ScanParams<Element>>& rung,
                             const std::vector<Element>& values,
                             unsigned int threads_per_cta);

/// A row-major matrix on the host.
/// \tparam Element  float or BFloat16
template <typename Element>
struct Matrix {
  std::int64_t rows = 0;          ///< rows
  std::int64_t columns = 0;       ///< columns
  std::vector<Element> elements;  ///< [rows, columns]

  /// One element.
  const Element& at(std::int64_t row, std::int64_t column) const {
    return elements[static_cast<std::size_t>(row * columns + column)];
  }
};

/// The transpose of a matrix.
/// \param device           where the kernel runs
/// \param rung             of transpose, compiled for that device
/// \param input            of any size
/// \param threads_per_cta  threads of a thread block
Matrix<float> transpose_on(const std::shared_ptr<Device>& device,
                           const Rung<TransposeParams>& rung,
                           const Matrix<float>& input,
                           unsigned int threads_per_cta);

/// How often each byte occurs.
/// \param device           where the kernel runs
/// \param rung             of histogram, compiled for that device
/// \param values           any number of them
/// \param threads_per_cta  threads of a thread block
/// \param counts_before    [kHistogramBins] what the counts begin with
std::vector<unsigned int> histogram_on(const std::shared_ptr<Device>& device,
                                       const Rung<HistogramParams>& rung,
                                       const std::vector<std::uint8_t>& values,
                                       unsigned int threads_per_cta,
                                       const std::vector<unsigned int>& counts_before);

/// A · B.
/// \tparam Element  float or BFloat16
/// \param device    where the kernel runs
/// \param rung      of matmul, compiled for that device
/// \param a         [m, k]
/// \param b         [k, n]
/// \param tile      rows and columns of a thread block's part of the result
template <typename Element>
Matrix<float> multiply_on(const std::shared_ptr<Device>& device,
                          const Rung<MatmulParams<Element>>& rung,
                          const Matrix<Element>& a,
                          const Matrix<Element>& b,
                          unsigned int tile);

/// Calls a function with each simulator under each order of threads, the results of which may not
/// differ.
void on_simulators_in_all_orders(const std::function<void(const std::shared_ptr<Device>&)>& check);

}  // namespace pagelab::test
