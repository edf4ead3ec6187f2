#include "reference/source_dir.h"

#include <cstdlib>

namespace pagelab {

std::filesystem::path source_dir() {
  const char* from_environment = std::getenv("PAGELAB_SOURCE_DIR");
  const bool is_set = from_environment != nullptr && *from_environment != '\0';
  return is_set ? from_environment : PAGELAB_SOURCE_DIR;
}

}  // namespace pagelab
