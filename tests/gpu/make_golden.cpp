// h200_golden FOLDER: runs the golden steps and the teaching kernels on this machine's GPU and writes
// naive_attention.txt, paged_decode_warp.txt, paged_decode.txt, paged_prefill.txt, cache_write.txt,
// teaching_kernels.txt, words.txt and ex2.txt into the folder; what a test compares with lies in tests/golden/h200.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "gpu/backends/naive.h"
#include "reference/contract/error.h"
#include "tests/gpu/exact_math_hashes.h"
#include "tests/gpu/golden_backends.h"
#include "tests/gpu/golden_decode.h"
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

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    throw pagelab::Error("usage: h200_golden FOLDER, the folder that the tables are written into.");
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const std::shared_ptr<pagelab::Device> device = pagelab::cuda_device();
  const pagelab::test::GoldenLines lines =
      pagelab::test::golden_lines(*pagelab::make_naive_backend(device));
  const std::string attention_columns =
      "seed, hash of inputs, of output, of LSE; first outputs as float32 bits";
  write_table(folder / "naive_attention.txt", "NAIVE", device->name(), attention_columns,
              lines.naive_attention);
  write_table(folder / "cache_write.txt", "NAIVE", device->name(),
              "seed, hash of inputs, of the cache after the write; its first bytes",
              lines.cache_write);
  const pagelab::test::GoldenLines lines_of_warps =
      pagelab::test::golden_lines(*pagelab::make_naive_backend(device, 2));
  write_table(folder / "paged_decode_warp.txt", "paged_decode/2_warp", device->name(),
              attention_columns, lines_of_warps.naive_attention);
  write_table(folder / "paged_decode.txt", "rungs 3 to 7 of paged_decode", device->name(),
              "rung, " + attention_columns, pagelab::test::decode_golden_lines(device));
  write_table(folder / "backends.txt", "backends with an order of their own", device->name(),
              "backend, " + attention_columns, pagelab::test::backend_golden_lines(device));
  write_table(folder / "paged_prefill.txt", "every rung of paged_prefill", device->name(),
              "rung, " + attention_columns, pagelab::test::prefill_lines(device));
  write_table(folder / "teaching_kernels.txt", "the teaching kernels", device->name(),
              "rung, seed, size, threads of a thread block or tile; hash of inputs, of outputs; "
              "first outputs as 32 bits",
              pagelab::test::teaching_kernel_lines(device));
  write_table(folder / "words.txt", "the kernels of tests/gpu/words", device->name(),
              "kernel and launch, hash of what it wrote, first of that",
              pagelab::test::word_lines(device));
  write_table(
      folder / "ex2.txt", "ex2_approx", device->name(),
      "hashes (tests/support/bit_hash.h) of its results: over every 65537th float, and over all",
      pagelab::test::ex2_golden_lines(device));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
