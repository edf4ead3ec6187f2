// libFuzzer over step folders. An input is one byte for the folder to start from, one for the file
// of it, and the file's new contents: so coverage leads through headers into the numbers behind
// them. Needs clang:
//
//   cmake --preset asan -B build/fuzz -DCMAKE_CXX_COMPILER=clang++-14 -DPAGELAB_FUZZ=ON
//   cmake --build build/fuzz --target step_fuzzer
//   mkdir -p build/fuzz/corpus && build/fuzz/bin/step_fuzzer --write-seeds build/fuzz/corpus
//   build/fuzz/bin/step_fuzzer build/fuzz/corpus -max_len=8192 -max_total_time=300
//
// A file that libFuzzer leaves behind (crash-…) is given to step_fuzzer as its only argument to see
// the failure again.

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/fuzz/step_fuzz.h"

namespace {

using namespace pagelab::test;

struct Fuzzer {
  std::vector<FolderFiles> seeds = seed_folders();
  std::vector<FuzzedFolder> folders = std::vector<FuzzedFolder>(seeds.size());
};

Fuzzer& fuzzer() {
  static Fuzzer instance;
  return instance;
}

// Files of a few kilobytes, so that mutations meet something.
void write_seeds(const std::filesystem::path& corpus) {
  constexpr std::size_t kLargest = 8000;
  for (std::size_t start = 0; start < fuzzer().seeds.size(); ++start) {
    std::size_t file = 0;
    for (const auto& [name, contents] : fuzzer().seeds[start]) {
      const std::string choice = {static_cast<char>(start), static_cast<char>(file++)};
      if (contents.size() > kLargest) continue;
      std::ofstream(corpus / (std::to_string(start) + "_" + name), std::ios::binary)
          << choice << contents;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc == 3 && std::string((*argv)[1]) == "--write-seeds") {
    write_seeds((*argv)[2]);
    std::exit(0);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t start = data[0] % fuzzer().seeds.size();
  FuzzedFolder& folder = fuzzer().folders[start];
  FolderFiles files = fuzzer().seeds[start];
  const auto file = std::next(files.begin(), data[1] % files.size());
  file->second.assign(reinterpret_cast<const char*>(data + 2), size - 2);
  folder.set(files);
  const FuzzOutcome outcome = try_folder(folder.path());
  if (!outcome.accepted && !is_one_sentence(outcome.sentence)) {
    std::fprintf(stderr, "not one sentence: %s\n", outcome.sentence.c_str());
    std::abort();
  }
  return 0;
}
