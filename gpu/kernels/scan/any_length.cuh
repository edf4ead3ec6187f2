// How a scan of one thread block becomes one of any length; the same for both rungs.
//
//            values   | 3 1 4 | 1 5 9 | 2 6 |         thread blocks of three threads
//   launch 1 sums     | 3 4 8 | 1 6 15| 2 8 |         each thread block scans its own values
//            totals       8      15     8             and notes its total
//   launch 2 totals       8      23    31             the totals are scanned, in the same way
//   launch 3 sums     | 3 4 8 | 9 14 23 | 25 31 |     each adds the total of those before it
//
// Cost     each value is read once and each sum written twice and read once.
// Order    sum[i] = total of the thread blocks before it + its sum in its own thread block.
#pragma once

#include "gpu/device/keywords.h"
#include "gpu/device/launch.h"
#include "gpu/kernels/scan/params.h"

namespace pagelab {
inline namespace PAGELAB_TARGET {

// Thread block c adds cta_totals[c − 1], the sum of all that comes before it.
template <typename Element>
__global__ void scan_add_totals(ScanParams<Element> params) {
  const std::int64_t idx = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (idx >= params.count || blockIdx.x == 0) return;
  const Element total_before = params.cta_totals[blockIdx.x - 1];
  params.sums[idx] = total_before + params.sums[idx];
}

// Scans with a kernel whose thread blocks each scan their own values and store their totals.
template <typename Element>
void launch_scan(const char* name,
                 void (*scan_ctas)(ScanParams<Element>),
                 const ScanParams<Element>& params) {
  if (params.count == 0) return;
  const unsigned int num_ctas = ctas_for(params.count, params.threads_per_cta);
  launch(name, num_ctas, params.threads_per_cta, scan_ctas, params);
  if (num_ctas == 1) return;

  ScanParams<Element> totals = params;
  totals.values = params.cta_totals;
  totals.sums = params.cta_totals;  // in place
  totals.count = num_ctas;
  totals.cta_totals = params.cta_totals + num_ctas;
  launch_scan(name, scan_ctas, totals);
  launch("scan/add_totals", num_ctas, params.threads_per_cta, scan_add_totals<Element>, params);
}

}  // namespace PAGELAB_TARGET
}  // namespace pagelab
