#include "tests/support/source_place.h"

#include <fstream>
#include <stdexcept>

#include "tests/support/environment.h"

namespace pagelab::test {

std::string source_place(const std::string& file, const std::string& text) {
  std::ifstream source(source_dir() / file);
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.find(text) == std::string::npos) continue;
    return file.substr(file.rfind('/') + 1) + ":" + std::to_string(number);
  }
  throw std::runtime_error("no line of " + file + " contains `" + text + "`");
}

}  // namespace pagelab::test
