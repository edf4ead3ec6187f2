#include "tests/fuzz/step_fuzz.h"

#include <algorithm>
#include <fstream>

#include "reference/contract/step_folder.h"
#include "reference/registry/reference_backends.h"
#include "tests/support/environment.h"

namespace pagelab::test {
namespace {

namespace fs = std::filesystem;

// Multiplications of one attention call, roughly.
double cost_of(const AttentionStep& step) {
  double cost = 0.0;
  for (std::int64_t req_idx = 0; req_idx < step.metadata.num_reqs(); ++req_idx) {
    const double query_len = static_cast<double>(step.metadata.query_len(req_idx));
    cost += query_len * static_cast<double>(step.metadata.seq_lens[req_idx]);
  }
  const double head_sizes = static_cast<double>(step.head_size() + step.head_size_v());
  const double ranges = static_cast<double>(step.variant.mm_prefix_ranges.size());
  return cost * static_cast<double>(step.num_query_heads()) * (head_sizes + ranges);
}

FolderFiles files_of(const RandomStepOptions& options, std::uint64_t seed) {
  const ScratchFolder folder;
  const AttentionStep step = random_step(options, seed);
  ExpectedResult expected;
  expected.output =
      Tensor(DType::kFloat64, {step.num_tokens(), step.num_query_heads(), step.head_size_v()});
  write_step_folder(folder.path(), step, expected);
  return read_files(folder.path());
}

RandomStepOptions small_step() {
  RandomStepOptions options;
  options.num_query_heads = 2;
  options.num_kv_heads = 2;
  options.head_size = 3;
  options.head_size_v = 2;
  options.num_reqs = 3;
  options.max_seq_len = 9;
  options.padding_rows = 1;
  return options;
}

}  // namespace

FolderFiles read_files(const fs::path& folder) {
  FolderFiles files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(stream), {}};
  }
  return files;
}

void FuzzedFolder::set(const FolderFiles& files) {
  for (const auto& [name, contents] : files_) {
    if (!files.contains(name)) fs::remove(path() / name);
  }
  for (const auto& [name, contents] : files) {
    const auto there = files_.find(name);
    if (there != files_.end() && there->second == contents) continue;
    // A new file: writing over an old one makes some file systems wait for the disk.
    fs::remove(path() / name);
    std::ofstream(path() / name, std::ios::binary) << contents;
  }
  files_ = files;
}

FuzzOutcome try_folder(const fs::path& folder) {
  constexpr double kAffordable = 2e6;
  FuzzOutcome outcome;
  StepFolder contents;
  try {
    contents = read_step_folder(folder);
  } catch (const Error& error) {
    outcome.sentence = error.what();
    return outcome;
  }
  outcome.accepted = true;
  if (cost_of(contents.step) <= kAffordable) {
    attend(contents.step, *make_reference_backend());
    attend(contents.step, *make_reference_float_backend());
    outcome.attended = true;
  }
  return outcome;
}

bool is_one_sentence(const std::string& text) {
  if (text.empty() || (text.back() != '.' && text.back() != '?')) return false;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char character = text[index];
    if (character < ' ' || character > '~') return false;
    const bool ends_here = character == '.' || character == '?' || character == '!';
    const bool goes_on = index + 2 < text.size() && text[index + 1] == ' ';
    if (ends_here && goes_on && text[index + 2] >= 'A' && text[index + 2] <= 'Z') return false;
  }
  return true;
}

std::vector<FolderFiles> seed_folders() {
  std::vector<FolderFiles> folders;
  for (const char* name :
       {"006_empty_rows_window_softcap_sinks_float16", "012_chunked_window_softcap_sinks_float32",
        "015_decode_softcap_bfloat16"}) {
    folders.push_back(read_files(golden_dir() / "steps" / name));
  }
  RandomStepOptions fp8 = small_step();
  fp8.kv_cache_dtype = DType::kFp8E4M3;
  folders.push_back(files_of(fp8, 1));
  fp8.scales_per_head = true;
  fp8.dtype = DType::kBFloat16;
  fp8.kv_cache_dtype = DType::kFp8E5M2;
  folders.push_back(files_of(fp8, 2));

  RandomStepOptions ranges = small_step();
  ranges.mm_prefix = true;
  ranges.alibi = true;
  ranges.sinks = true;
  ranges.num_empty_reqs = 1;
  ranges.num_idle_reqs = 1;
  folders.push_back(files_of(ranges, 3));

  RandomStepOptions encoder = small_step();
  encoder.attn_type = AttnType::kEncoderOnly;
  encoder.window_left = 2;
  folders.push_back(files_of(encoder, 4));
  encoder.without_cache = true;
  folders.push_back(files_of(encoder, 5));

  RandomStepOptions cross = small_step();
  cross.attn_type = AttnType::kEncoderDecoder;
  folders.push_back(files_of(cross, 6));
  return folders;
}

}  // namespace pagelab::test
