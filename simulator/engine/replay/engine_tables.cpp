#include "simulator/engine/replay/engine_tables.h"

namespace pagelab {

const std::vector<TableKind>& engine_table_kinds() {
  static const std::vector<TableKind> kKinds = {
      {"kernel_block_size", answer_kernel_block_size},
  };
  return kKinds;
}

}  // namespace pagelab
