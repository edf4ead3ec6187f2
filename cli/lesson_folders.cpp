#include "cli/lesson_folders.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/contract/error.h"
#include "reference/source_dir.h"

namespace pagelab::cli {
namespace {

bool is_lesson_name(const std::string& name) {
  return name.size() > 3 && std::isdigit(name[0]) && std::isdigit(name[1]) && name[2] == '_';
}

/// Examples lie beside this program.
std::filesystem::path program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace

std::vector<Lesson> all_lessons() {
  const std::filesystem::path folder = source_dir() / "lessons";
  if (!std::filesystem::is_directory(folder)) {
    throw Error(
        fmt::format("The lessons were in {}, which is not on this machine; set PAGELAB_SOURCE_DIR "
                    "to a checkout of pagelab.",
                    folder.string()));
  }
  std::vector<Lesson> lessons;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || !is_lesson_name(name)) continue;
    std::string title = name.substr(3);
    std::replace(title.begin(), title.end(), '_', ' ');
    const std::filesystem::path example = program_folder() / ("lesson_" + name);
    lessons.push_back({std::stoi(name.substr(0, 2)), name, title, entry.path(), example});
  }
  const auto by_number = [](const Lesson& a, const Lesson& b) { return a.number < b.number; };
  std::sort(lessons.begin(), lessons.end(), by_number);
  return lessons;
}

Lesson find_lesson(const std::string& number) {
  std::string numbers;
  for (const Lesson& lesson : all_lessons()) {
    const std::string plain = std::to_string(lesson.number);
    if (number == plain || number == lesson.name.substr(0, 2)) return lesson;
    numbers += (numbers.empty() ? "" : ", ") + plain;
  }
  throw Error(fmt::format("There is no lesson {}; the lessons are {}.", number, numbers));
}

std::string short_path(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path relative = std::filesystem::relative(path, error);
  const bool is_below = !error && !relative.empty() && *relative.begin() != "..";
  return is_below ? relative.string() : path.string();
}

}  // namespace pagelab::cli
