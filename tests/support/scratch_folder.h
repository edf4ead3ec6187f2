/// \file
/// A folder of a test's own, gone when the test ends.
#pragma once

#include <filesystem>

namespace pagelab::test {

/// An empty folder with a name of its own, removed with all that is in it at the end of its scope.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  /// Where it is.
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace pagelab::test
