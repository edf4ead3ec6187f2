// A few thousand damaged step folders, the same ones each time. To go on with others:
// PAGELAB_FUZZ_SEED=7 PAGELAB_FUZZ_FOLDERS=1000000 test_fuzz; for long runs see step_fuzzer.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/fuzz/step_fuzz.h"

using namespace pagelab;
using namespace pagelab::test;

namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

}  // namespace

TEST_SUITE("fuzz") {
  TEST_CASE("one sentence is told from none and from two") {
    CHECK(is_one_sentence("seq_lens[1] is -1, but a length is at least 0."));
    CHECK(is_one_sentence("/tmp/a.npy: is the disk full?"));
    CHECK_FALSE(is_one_sentence(""));
    CHECK_FALSE(is_one_sentence("no end"));
    CHECK_FALSE(is_one_sentence("One. Two."));
    CHECK_FALSE(is_one_sentence("One\nline."));
    CHECK_FALSE(is_one_sentence("A byte \xff."));
  }

  TEST_CASE("every folder to start from is accepted and attended with") {
    for (const FolderFiles& files : seed_folders()) {
      FuzzedFolder folder;
      folder.set(files);
      const FuzzOutcome outcome = try_folder(folder.path());
      CHECK(outcome.sentence == "");
      CHECK(outcome.attended);
    }
  }

  TEST_CASE("a damaged step folder gives a step or one sentence and never a crash") {
    const std::uint64_t seed = number_from_environment("PAGELAB_FUZZ_SEED", 20260);
    const std::uint64_t count = number_from_environment("PAGELAB_FUZZ_FOLDERS", 4000);
    const std::vector<FolderFiles> seeds = seed_folders();
    // One for each start, so that few files change from one try to the next.
    std::vector<FuzzedFolder> folders(seeds.size());
    std::uint64_t accepted = 0;
    std::uint64_t attended = 0;
    for (std::uint64_t number = 0; number < count; ++number) {
      Random random(seed + number);
      const std::int64_t start = random.whole(0, static_cast<std::int64_t>(seeds.size()) - 1);
      FolderFiles files = seeds[start];
      std::string damages;
      const std::int64_t times = std::max<std::int64_t>(1, random.whole(-3, 3));
      for (std::int64_t time = 0; time < times; ++time) {
        damages += damage(files, seeds, random) + "; ";
      }
      INFO("PAGELAB_FUZZ_SEED=" << seed + number << " PAGELAB_FUZZ_FOLDERS=1, " << damages);
      folders[start].set(files);
      FuzzOutcome outcome;
      REQUIRE_NOTHROW(outcome = try_folder(folders[start].path()));
      if (!outcome.accepted) {
        INFO(outcome.sentence);
        REQUIRE(is_one_sentence(outcome.sentence));
      }
      accepted += outcome.accepted;
      attended += outcome.attended;
    }
    MESSAGE("seed " << seed << ": of " << count << " damaged folders " << accepted
                    << " were accepted, " << attended << " attended with");
    // If nearly all or nearly none were accepted, the damage would test little.
    if (count >= 1000) {
      CHECK(accepted > count / 20);
      CHECK(accepted < count * 19 / 20);
    }
  }
}
