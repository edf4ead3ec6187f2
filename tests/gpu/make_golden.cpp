// h200_golden FOLDER [TABLE]: runs the golden steps, the teaching kernels and the words on this machine's GPU and
// writes the tables listed below into the folder, or one of them. What tests compare with lies in tests/golden/h200.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/backends/naive.h"
#include "reference/contract/error.h"
#include "tests/gpu/exact_math_hashes.h"
#include "tests/gpu/golden_backends.h"
#include "tests/gpu/golden_cascade.h"
#include "tests/gpu/golden_decode.h"
#include "tests/gpu/golden_model.h"
#include "tests/gpu/golden_steps.h"
#include "tests/gpu/golden_teaching.h"
#include "tests/gpu/words/word_cases.h"

namespace {

void write_table(const std::filesystem::path& path,
                 const std::string& what,
                 const std::string& device,
                 const std::string& columns,
                 const std::vector<std::string>& lines) {
  const std::filesystem::path temporary = path.string() + ".new";
  std::ofstream file(temporary);
  file << "# Computed by " << what << " on " << device
       << "; made by h200_golden (tests/gpu/make_golden.cpp).\n"
       << "# " << columns << "\n";
  for (const std::string& line : lines) file << line << "\n";
  file.close();
  if (!file) throw pagelab::Error("cannot write " + temporary.string() + ".");
  std::filesystem::rename(temporary, path);
  std::printf("%s: %zu lines\n", path.c_str(), lines.size());
}

// A table by its file, and how its lines are made.
struct GoldenTable {
  const char* file;
  const char* what;
  std::string columns;
  std::function<std::vector<std::string>(const std::shared_ptr<pagelab::Device>&)> lines_on;
};

std::vector<GoldenTable> golden_tables() {
  using namespace pagelab;
  using namespace pagelab::test;
  using DevicePtr = std::shared_ptr<Device>;
  const std::string attention =
      "seed, hash of inputs, of output, of LSE; first outputs as float32 bits";
  return {
      {"naive_attention.txt", "NAIVE", attention,
       [](const DevicePtr& device) {
         return golden_lines(*make_naive_backend(device)).naive_attention;
       }},
      {"cache_write.txt", "NAIVE",
       "seed, hash of inputs, of the cache after the write; its first bytes",
       [](const DevicePtr& device) {
         return golden_lines(*make_naive_backend(device)).cache_write;
       }},
      {"paged_decode_warp.txt", "paged_decode/2_warp", attention,
       [](const DevicePtr& device) {
         return golden_lines(*make_naive_backend(device, 2)).naive_attention;
       }},
      {"paged_decode.txt", "rungs 3 to 7 of paged_decode", "rung, " + attention,
       [](const DevicePtr& device) { return decode_golden_lines(device); }},
      {"backends.txt", "backends with an order of their own", "backend, " + attention,
       backend_golden_lines},
      {"cascade.txt", "cascade/1_prefix, merge_states, and backends in a cascade",
       "kernel or backend, " + attention, cascade_golden_lines},
      {"paged_prefill.txt", "every rung of paged_prefill", "rung, " + attention, prefill_lines},
      {"teaching_kernels.txt", "the teaching kernels",
       "rung, seed, size, threads of a thread block or tile; hash of inputs, of outputs; "
       "first outputs as 32 bits",
       teaching_kernel_lines},
      {"model.txt", "the kernels of a model's layers",
       "kernel, seed, sizes; hash of inputs, of outputs; first outputs as bits",
       model_kernel_lines},
      {"words.txt", "the kernels of tests/gpu/words",
       "kernel and launch, hash of what it wrote, first of that", word_lines},
      {"ex2.txt", "ex2_approx",
       "hashes (tests/support/bit_hash.h) of its results: over every 65537th float, and over all",
       ex2_golden_lines}};
}

std::vector<GoldenTable> chosen_tables(const std::string& file) {
  std::vector<GoldenTable> chosen;
  std::string known;
  for (const GoldenTable& table : golden_tables()) {
    if (file.empty() || file == table.file) chosen.push_back(table);
    known += std::string(" ") + table.file;
  }
  if (chosen.empty()) {
    throw pagelab::Error("there is no table " + file + ", only" + known + ".");
  }
  return chosen;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2 && argc != 3) {
    throw pagelab::Error(
        "usage: h200_golden FOLDER [TABLE], the folder that the tables are written into, and "
        "which one, if not all.");
  }
  const std::vector<GoldenTable> tables = chosen_tables(argc == 3 ? argv[2] : "");
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const std::shared_ptr<pagelab::Device> device = pagelab::cuda_device();
  for (const GoldenTable& table : tables) {
    write_table(folder / table.file, table.what, device->name(), table.columns,
                table.lines_on(device));
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
