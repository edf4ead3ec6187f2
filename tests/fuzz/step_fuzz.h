/// \file
/// Step folders with wrong bytes in them. Whatever the bytes, reading gives a step or one sentence;
/// and a step that was accepted can be attended with.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/random_step.h"
#include "tests/support/scratch_folder.h"

namespace pagelab::test {

/// A step folder in memory: contents by file name.
using FolderFiles = std::map<std::string, std::string>;

/// The files of a folder.
FolderFiles read_files(const std::filesystem::path& folder);

/// A folder whose files can be replaced cheaply: only those that differ are written.
class FuzzedFolder {
 public:
  /// Makes the folder hold these files and no others.
  void set(const FolderFiles& files);
  /// Where it is.
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  ScratchFolder folder_;
  FolderFiles files_;
};

/// What became of a folder.
struct FuzzOutcome {
  bool accepted = false;  ///< it was read and validated
  bool attended = false;  ///< and small enough to attend with; both reference backends did
  std::string sentence;   ///< why it was refused
};

/// Reads a folder and, if that succeeds and the step is small, attends with both precisions.
/// Anything but an Error passes through.
FuzzOutcome try_folder(const std::filesystem::path& folder);

/// Whether a message is one sentence: printable, on one line, ending in '.' or '?', with no second
/// sentence behind a first.
bool is_one_sentence(const std::string& text);

/// Folders to start from: small golden steps, and generated ones with what these lack (fp8 caches
/// with scales as numbers and as files, encoder types with and without a cache, prefix ranges).
std::vector<FolderFiles> seed_folders();

/// One of a dozen kinds of damage to one or two files.
/// \param files   the folder
/// \param others  folders from which a file may be taken
/// \param random  decides
/// \returns       what was done, for the message of a failure
std::string damage(FolderFiles& files, const std::vector<FolderFiles>& others, Random& random);

}  // namespace pagelab::test
