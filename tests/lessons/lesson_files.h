/// \file
/// The lessons as the tests see them: folders with files of known names, and what stands in these.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace pagelab::test {

/// The folders lessons/NN_name, in order.
std::vector<std::filesystem::path> lesson_folders();

/// The lesson's number as the command line takes it: "2".
std::string number_of(const std::filesystem::path& lesson_folder);

/// A whole file.
std::string read_text(const std::filesystem::path& file);

/// The declarations of a header at namespace scope, with single spaces and without bodies:
/// "inline int twice(int number)", "using Row = std::vector<double>".
std::vector<std::string> declarations_in(const std::string& code);

/// Every identifier in the .h, .cpp, .cu and .cuh files under these folders.
std::set<std::string> identifiers_in(const std::vector<std::filesystem::path>& folders);

/// A command that a text shows, and the output that it shows for it.
struct ShownCommand {
  std::string arguments;  ///< what follows "$ ./pagelab "
  std::string output;     ///< the lines below it
};

/// The parts of a Markdown text that can be wrong.
struct Markdown {
  std::vector<std::string> links;      ///< targets of links and pictures
  std::vector<std::string> code;       ///< code spans, and indented lines of code
  std::vector<ShownCommand> commands;  ///< ```text blocks that begin with a "$ ./pagelab" line
  std::vector<std::string> headings;   ///< without the leading #
};

/// Takes a text apart.
Markdown parse_markdown(const std::string& text);

}  // namespace pagelab::test
