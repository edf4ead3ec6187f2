// Holds one value of each type that docs/debugger/pagelab_gdb.py prints. printers.gdb stops at the
// marked line and prints them; printers.txt says what they must look like.

#include <cmath>

#include "reference/contract/attention_step.h"
#include "simulator/simt/launch.h"

using namespace pagelab;

namespace {

KvCacheSpec cache_spec() {
  KvCacheSpec spec;
  spec.num_blocks = 8;
  spec.block_size = 4;
  spec.num_kv_heads = 1;
  spec.head_size = 2;
  spec.head_size_v = 3;
  spec.dtype = DType::kFp8E4M3;
  spec.layout.packing = KvPacking::kOneRow;
  return spec;
}

AttentionStep small_step() {
  AttentionStep step;
  step.query = Tensor::from_values<float>({3, 1, 2}, {1.0f, -2.5f, 0.1f, 1e10f, 0.0f, 7.0f});
  step.key = Tensor(DType::kFloat32, {3, 1, 2});
  step.value = Tensor(DType::kFloat32, {3, 1, 3});
  step.cache = KvCache(cache_spec());
  // Request 0 adds its tenth token, request 1 its first two.
  step.metadata.query_start_loc = {0, 1, 3};
  step.metadata.seq_lens = {10, 2};
  step.metadata.block_table = BlockTable::from_rows({{6, 1, 4}, {0}});
  step.metadata.slot_mapping = {17, 0, 1};
  return step;
}

void count_thread(int& num_threads) { ++num_threads; }

}  // namespace

int main() {
  const Tensor doubles = Tensor::from_values<double>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor bfloat16s = Tensor::from_values<BFloat16>({4}, {{0x3f80}, {0xc020}, {0x7fff}, {0}});
  const Tensor float16s = Tensor::from_values<Float16>({3}, {{0x3e00}, {0xfc00}, {0x0001}});
  const Tensor e4m3s = Tensor::from_values<Fp8E4M3>({5}, {{0x38}, {0xb8}, {0x7e}, {0x01}, {0x7f}});
  const Tensor e5m2s = Tensor::from_values<Fp8E5M2>({4}, {{0x3c}, {0x7b}, {0x7c}, {0x01}});
  const Tensor indices = Tensor::from_values<std::int64_t>({2}, {-1, 17});
  const Tensor empty(DType::kFloat32, {0, 3});
  const TensorView<const double, 2> view = doubles.view<double, 2>();
  // The second and third column: rows are still four elements apart.
  const TensorView<const double, 2> columns = {view.data + 1, {2, 2}, {4, 1}};
  const BFloat16 one_and_a_half{0x3fc0};
  const AttentionStep step = small_step();

  int num_threads = 0;
  simt::launch({"count", 3, simt::dim3(5, 2)}, [&num_threads] { count_thread(num_threads); });
  return step.num_tokens() == 3 && columns(1, 1) == 7 && one_and_a_half.bits != 0 &&  //
                 num_threads == 30 && bfloat16s.size() == 4 && float16s.size() == 3 &&
                 e4m3s.size() == 5 && e5m2s.size() == 4 && indices.size() == 2 && empty.size() == 0
             ? 0
             : 1;
}
