/// \file
/// What the check of task 4 records and replays with: arrays of the simulated GPU that can be written again, and a step in
/// them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gpu/device/launch_list.h"
#include "lessons/10_cuda_graphs/answer.h"
#include "lessons/checker/random_data.h"
#include "simulator/simt/device_memory.h"

namespace pagelab::lesson_10 {

/// An array of the simulated GPU that can be written again.
template <typename T>
class Array {
 public:
  Array(const std::string& name, const std::vector<T>& values)
      : address_(static_cast<T*>(simt::device_memory().allocate(values.size() * sizeof(T), name))),
        count_(values.size()) {
    write(values);
  }
  ~Array() { simt::device_memory().free(address_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* address() const { return address_; }
  void write(const std::vector<T>& values) const {
    simt::device_memory().copy_to_device(address_, values.data(), count_ * sizeof(T));
  }
  std::vector<double> read() const {
    std::vector<T> values(count_);
    simt::device_memory().copy_to_host(values.data(), address_, count_ * sizeof(T));
    return {values.begin(), values.end()};
  }

 private:
  T* address_;
  std::size_t count_;
};

/// Launches are recorded for as long as this lives.
struct Recording {
  explicit Recording(LaunchList& list) { launch_recorder = &list; }
  ~Recording() { launch_recorder = nullptr; }
};

struct MeansSizes {
  int max_num_reqs;
  int max_blocks_per_req;
  int block_size;
};

/// The persistent arrays, and what a replay must find for a step that was written into them.
class MeansInput {
 public:
  explicit MeansInput(const MeansSizes& sizes)
      : sizes_(sizes),
        random_(sizes.max_num_reqs),
        num_blocks_(sizes.max_num_reqs * sizes.max_blocks_per_req + 1),
        host_values_(random_values()),
        values_("values", host_values_),
        seq_lens_("seq_lens", std::vector<std::int32_t>(sizes.max_num_reqs, 0)),
        block_table_("block_table", std::vector<std::int32_t>(num_blocks_ - 1, kNullBlock)),
        means_("means", std::vector<float>(sizes.max_num_reqs, 0.0f)) {}

  PersistentArrays arrays() const {
    return {seq_lens_.address(), block_table_.address(),    values_.address(), means_.address(),
            sizes_.max_num_reqs, sizes_.max_blocks_per_req, sizes_.block_size};
  }
  /// Writes a random step, padded with rows of length 0. Returns the lengths.
  std::vector<std::int32_t> write_step(int num_reqs) {
    std::vector<std::int32_t> lens(sizes_.max_num_reqs, 0);
    std::vector<std::int32_t> table(num_blocks_ - 1, kNullBlock);
    expected_.assign(sizes_.max_num_reqs, 0.0);
    const std::vector<int> blocks = random_.distinct(num_blocks_ - 1, num_blocks_ - 1);
    for (int i = 0; i < num_reqs; ++i) {
      lens[i] = random_.integer(1, sizes_.max_blocks_per_req * sizes_.block_size);
      double sum = 0;
      for (int position = 0; position < lens[i]; ++position) {
        const int column = i * sizes_.max_blocks_per_req + position / sizes_.block_size;
        table[column] = blocks[column] + 1;
        sum += host_values_[table[column] * sizes_.block_size + position % sizes_.block_size];
      }
      expected_[i] = static_cast<float>(sum) / static_cast<float>(lens[i]);
    }
    seq_lens_.write(lens);
    block_table_.write(table);
    means_.write(std::vector<float>(sizes_.max_num_reqs, std::numeric_limits<float>::quiet_NaN()));
    lens.resize(num_reqs);
    return lens;
  }
  std::vector<double> means() const { return means_.read(); }
  const std::vector<double>& expected() const { return expected_; }

 private:
  std::vector<float> random_values() {
    std::vector<float> values(num_blocks_ * sizes_.block_size);
    for (float& value : values) value = static_cast<float>(random_.integer(-99, 99));
    return values;
  }

  MeansSizes sizes_;
  lessons::RandomData random_;
  int num_blocks_;
  std::vector<float> host_values_;
  Array<float> values_;
  Array<std::int32_t> seq_lens_;
  Array<std::int32_t> block_table_;
  Array<float> means_;
  std::vector<double> expected_;
};

}  // namespace pagelab::lesson_10
