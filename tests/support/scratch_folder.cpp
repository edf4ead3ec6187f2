#include "tests/support/scratch_folder.h"

#include <cstdlib>
#include <string>

#include "reference/contract/error.h"

namespace pagelab::test {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "pagelab-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw Error("no temporary folder can be made at " + name);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace pagelab::test
