/// \file
/// A valid step folder in which a test changes one file.
#pragma once

#include <fstream>
#include <string>

#include "reference/contract/step_folder.h"
#include "reference/tensor/npy.h"
#include "tests/reference/contract/plain_step.h"
#include "tests/support/scratch_folder.h"

namespace pagelab::test {

/// The plain step in a folder of its own.
class PlainFolder {
 public:
  PlainFolder() { write_step_folder(folder_.path(), plain_step()); }

  /// Replaces step.json, or any other file.
  void write(const std::string& name, const std::string& contents) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << contents;
  }
  /// Replaces an array.
  void write(const std::string& name, const Tensor& array) const {
    write_npy(folder_.path() / name, array);
  }
  /// Removes a file.
  void remove(const std::string& name) const { std::filesystem::remove(folder_.path() / name); }

  /// Reads the folder.
  StepFolder read() const { return read_step_folder(folder_.path()); }

  /// The sentence in which reading is refused, without the folder's name; "" if it is not.
  std::string refusal() const {
    try {
      read();
    } catch (const Error& error) {
      const std::string sentence = error.what();
      const std::string prefix = folder_.path().string() + "/";
      return sentence.starts_with(prefix) ? sentence.substr(prefix.size()) : sentence;
    }
    return "";
  }

 private:
  ScratchFolder folder_;
};

}  // namespace pagelab::test
