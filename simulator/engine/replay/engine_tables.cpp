#include "simulator/engine/replay/engine_tables.h"

namespace pagelab {

const std::vector<TableKind>& engine_table_kinds() {
  static const std::vector<TableKind> kKinds = {
      {"kv_manager", answer_kv_manager},
      {"kv_manager_hybrid", answer_kv_manager},
      {"scheduler", answer_scheduler},
      {"reorder", answer_reorder},
      {"slot_mapping", answer_slot_mapping},
      {"kernel_block_size", answer_kernel_block_size},
      {"cascade", answer_cascade},
      {"cudagraph_mode", answer_cudagraph_mode},
      {"cudagraph_dispatch", answer_cudagraph_dispatch},
      {"capture_sizes", answer_capture_sizes},
      {"sizing", answer_sizing},
  };
  return kKinds;
}

}  // namespace pagelab
