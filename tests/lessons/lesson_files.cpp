#include "tests/lessons/lesson_files.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "tests/support/environment.h"

namespace pagelab::test {
namespace fs = std::filesystem;

namespace {

std::string without_comments(const std::string& code) {
  std::string result;
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t comment = line.find("//");
    if (comment != std::string::npos) line.resize(comment);
    if (!line.starts_with("#")) result += line + " ";
  }
  return result;
}

std::string with_single_spaces(const std::string& text) {
  std::istringstream words(text);
  std::string result;
  for (std::string word; words >> word;) result += (result.empty() ? "" : " ") + word;
  return result;
}

void append_matches(const std::string& line,
                    const std::regex& pattern,
                    std::vector<std::string>& target) {
  for (std::sregex_iterator match(line.begin(), line.end(), pattern), end; match != end; ++match) {
    target.push_back((*match)[1]);
  }
}

}  // namespace

std::vector<fs::path> lesson_folders() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(source_dir() / "lessons")) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && std::isdigit(name[0])) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::string number_of(const fs::path& lesson_folder) {
  return std::to_string(std::stoi(lesson_folder.filename().string().substr(0, 2)));
}

std::string read_text(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> declarations_in(const std::string& code) {
  std::vector<std::string> declarations;
  std::string pending;
  int depth = 0;  // of braces that do not belong to a namespace
  for (const char character : without_comments(code)) {
    if (character == '{') {
      const std::string before = with_single_spaces(pending);
      const bool is_namespace =
          before.starts_with("namespace") || before.starts_with("inline namespace");
      if (depth == 0 && is_namespace) {
        pending.clear();
        continue;
      }
      if (depth == 0) declarations.push_back(before);
      ++depth;
    } else if (character == '}') {
      depth = std::max(depth - 1, 0);
      pending.clear();
    } else if (character == ';') {
      if (depth == 0 && !with_single_spaces(pending).empty()) {
        declarations.push_back(with_single_spaces(pending));
      }
      pending.clear();
    } else {
      pending += character;
    }
  }
  return declarations;
}

std::set<std::string> identifiers_in(const std::vector<fs::path>& folders) {
  const std::set<std::string> extensions = {".h", ".cpp", ".cu", ".cuh"};
  std::set<std::string> identifiers;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!extensions.contains(entry.path().extension().string())) continue;
      std::string word;
      for (const char character : read_text(entry.path()) + " ") {
        if (std::isalnum(static_cast<unsigned char>(character)) || character == '_') {
          word += character;
        } else {
          identifiers.insert(word);
          word.clear();
        }
      }
    }
  }
  return identifiers;
}

Markdown parse_markdown(const std::string& text) {
  static const std::regex link("\\]\\(([^)]*)\\)");
  static const std::regex span("`([^`]+)`");
  Markdown markdown;
  bool in_fence = false;
  bool in_output = false;  // of a command that this fence shows
  // Links and code spans may run over the end of a line.
  std::string prose;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      in_fence = !in_fence;
      in_output = false;
    } else if (in_fence && line.starts_with("$ ./pagelab ")) {
      markdown.commands.push_back({line.substr(12), ""});
      in_output = true;
    } else if (in_fence) {
      if (in_output) markdown.commands.back().output += line + "\n";
    } else if (line.starts_with("    ")) {
      markdown.code.push_back(line.substr(4));
    } else {
      if (line.starts_with("#")) markdown.headings.push_back(line.substr(line.find(' ') + 1));
      prose += line + " ";
    }
  }
  append_matches(prose, link, markdown.links);
  append_matches(prose, span, markdown.code);
  return markdown;
}

}  // namespace pagelab::test
