#include "reference/tensor/atomic_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <system_error>

#include "reference/contract/error.h"

namespace pagelab {
namespace {

std::filesystem::path temporary_name_for(const std::filesystem::path& path) {
  static std::atomic<int> counter = 0;
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}-{}.tmp", getpid(), counter++);
  return temporary;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(path), temporary_path_(temporary_name_for(path)) {
  stream_.open(temporary_path_, std::ios::binary | std::ios::trunc);
  if (!stream_) {
    throw Error(fmt::format("{} cannot be written: does its folder exist, and may you write there?",
                            path_.string()));
  }
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(temporary_path_, ignored);
}

void AtomicFile::write(std::string_view bytes) {
  stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream_) throw Error(fmt::format("{} cannot be written: is the disk full?", path_.string()));
}

void AtomicFile::commit() {
  stream_.close();
  if (!stream_) throw Error(fmt::format("{} cannot be written: is the disk full?", path_.string()));
  std::error_code error;
  std::filesystem::rename(temporary_path_, path_, error);
  if (error) {
    throw Error(fmt::format("{} cannot be written: {}.", path_.string(), error.message()));
  }
  committed_ = true;
}

}  // namespace pagelab
