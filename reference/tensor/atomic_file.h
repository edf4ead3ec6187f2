/// \file
/// Files that appear whole or not at all: written under a temporary name, then renamed.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

namespace pagelab {

/// A file being written. Until `commit` nothing stands under its name, and without `commit` nothing
/// ever will.
class AtomicFile {
 public:
  /// Opens a temporary file beside `path`.
  /// \throws Error  if the folder does not exist or cannot be written
  explicit AtomicFile(const std::filesystem::path& path);
  /// Deletes the temporary file unless it was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends bytes.
  /// \throws Error  if they cannot be written
  void write(std::string_view bytes);
  /// Closes the file and gives it its name, replacing what stood there.
  /// \throws Error  if that fails
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_path_;
  std::ofstream stream_;
  bool committed_ = false;
};

}  // namespace pagelab
