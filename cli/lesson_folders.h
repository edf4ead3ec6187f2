/// \file
/// Where the lessons are: the folders lessons/NN_name of the source tree, and the programs that
/// were built from them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pagelab::cli {

/// One lesson.
struct Lesson {
  int number;                     ///< 2
  std::string name;               ///< "02_block_tables"
  std::string title;              ///< "block tables"
  std::filesystem::path folder;   ///< lessons/02_block_tables
  std::filesystem::path example;  ///< the program built from its example.cpp
};

/// All lessons, in order.
/// \throws Error  if the source tree is not on this machine
std::vector<Lesson> all_lessons();

/// The lesson of this number.
/// \param number  as typed: "2" or "02"
/// \throws Error  if there is none, naming those that there are
Lesson find_lesson(const std::string& number);

/// A path as the reader would type it: relative to the current directory if it lies below it.
std::string short_path(const std::filesystem::path& path);

}  // namespace pagelab::cli
