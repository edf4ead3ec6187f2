// Everything in a lesson's text that can be checked: links, file names, names of the code, and the output
// of the commands that it shows.

#include <doctest/doctest.h>

#include <regex>

#include "tests/lessons/lesson_files.h"
#include "tests/support/environment.h"
#include "tests/support/run_command.h"

using namespace pagelab::test;
namespace fs = std::filesystem;

namespace {

/// The texts of the lessons, and the index.
std::vector<fs::path> texts() {
  std::vector<fs::path> files = {source_dir() / "lessons" / "README.md"};
  for (const fs::path& folder : lesson_folders()) {
    files.push_back(folder / "README.md");
    files.push_back(folder / "hints.md");
  }
  return files;
}

bool is_command(const std::string& code) { return code.starts_with("./pagelab"); }

/// Whether a piece of code is the name of a file: "hints.md", "wrong/", "reference/cache/block_table.h".
bool is_file_name(const std::string& code) {
  static const std::regex pattern("[A-Za-z0-9_./]*(/|\\.(h|cpp|md|txt|svg|cuh|cu))");
  return std::regex_match(code, pattern);
}

/// A file may be named from the text's folder, from the root, or (in the index) from any lesson's folder.
bool exists_somewhere(const std::string& file, const fs::path& text) {
  if (fs::exists(text.parent_path() / file) || fs::exists(source_dir() / file)) return true;
  if (text.parent_path().filename() != "lessons") return false;
  for (const fs::path& folder : lesson_folders()) {
    if (!fs::exists(folder / file)) return false;
  }
  return true;
}

}  // namespace

TEST_SUITE("lesson texts") {
  TEST_CASE("every link of a lesson leads to a file") {
    int num_links = 0;
    for (const fs::path& text : texts()) {
      for (const std::string& link : parse_markdown(read_text(text)).links) {
        CAPTURE(text.string());
        CAPTURE(link);
        if (link.starts_with("https://")) continue;
        CHECK(fs::exists(text.parent_path() / link));
        ++num_links;
      }
    }
    CHECK(num_links > 20);
  }

  TEST_CASE("every file named in a lesson exists") {
    int num_files = 0;
    for (const fs::path& text : texts()) {
      for (const std::string& code : parse_markdown(read_text(text)).code) {
        if (is_command(code) || !is_file_name(code)) continue;
        CAPTURE(text.string());
        CAPTURE(code);
        CHECK(exists_somewhere(code, text));
        ++num_files;
      }
    }
    CHECK(num_files > 5);
  }

  TEST_CASE("L2: every name in a lesson's code spans is a name in the code") {
    const fs::path root = source_dir();
    const std::set<std::string> shared = identifiers_in(
        {root / "reference", root / "gpu", root / "cli", root / "lessons" / "checker"});
    static const std::regex name("([A-Za-z_][A-Za-z0-9_]*)");
    int num_names = 0;
    for (const fs::path& text : texts()) {
      const std::set<std::string> own = identifiers_in({text.parent_path()});
      for (const std::string& code : parse_markdown(read_text(text)).code) {
        if (is_command(code) || is_file_name(code)) continue;
        for (std::sregex_iterator match(code.begin(), code.end(), name), end; match != end;
             ++match) {
          const std::string identifier = match->str();
          CAPTURE(text.string());
          CAPTURE(code);
          CAPTURE(identifier);
          CHECK((own.contains(identifier) || shared.contains(identifier)));
          ++num_names;
        }
      }
    }
    CHECK(num_names > 100);
  }

  TEST_CASE("the commands that a lesson shows print what it shows") {
    int num_commands = 0;
    for (const fs::path& text : texts()) {
      for (const ShownCommand& command : parse_markdown(read_text(text)).commands) {
        CAPTURE(text.string());
        CAPTURE(command.arguments);
        CHECK(run_pagelab(command.arguments).output == command.output);
        ++num_commands;
      }
    }
    CHECK(num_commands >= 5);
  }

  TEST_CASE("a lesson's text has its sections in the agreed order") {
    for (const fs::path& folder : lesson_folders()) {
      CAPTURE(folder.string());
      const std::vector<std::string> headings =
          parse_markdown(read_text(folder / "README.md")).headings;
      REQUIRE(headings.size() == 8);
      const std::vector<std::string> sections(headings.begin() + 1, headings.end());
      CHECK(sections == std::vector<std::string>{"Question", "Picture", "Shapes", "Walk through",
                                                 "Try this", "What we left out", "Sources"});
    }
  }
}
