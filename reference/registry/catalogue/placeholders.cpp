// Names without a class behind them.

#include "reference/registry/catalogue/rows.h"

namespace pagelab::catalogue {

const BackendFacts& torch_sdpa() {
  static const BackendFacts kRow = {
      .name = "TORCH_SDPA",
      .path = "",
      .family = "placeholder",
      .description =
          "A tag for vision towers only; its path is the empty string, so asking for the class "
          "fails.",
      .package = "torch",
      .class_name = "",
      .get_name = "",
  };
  return kRow;
}

const BackendFacts& no_attention() {
  static const BackendFacts kRow = {
      .name = "NO_ATTENTION",
      .path = "vllm.v1.attention.backends.no_attention.NoAttentionBackend",
      .family = "placeholder",
      .description =
          "Names a module that the 0.32.0 wheel does not contain, so importing it always fails.",
      .package = "no_attention",
      .class_name = "",
      .get_name = "",
  };
  return kRow;
}

const BackendFacts& custom() {
  static const BackendFacts kRow = {
      .name = "CUSTOM",
      .path = std::nullopt,
      .family = "placeholder",
      .description = "Slot for a third-party class; unusable until registered.",
      .package = "custom",
      .class_name = "",
      .get_name = "",
  };
  return kRow;
}

const BackendFacts& mamba_custom() {
  static const BackendFacts kRow = {
      .name = "CUSTOM",
      .path = std::nullopt,
      .family = "placeholder",
      .description = "Slot for a third-party state-space class.",
      .package = "",
      .class_name = "",
      .get_name = "",
  };
  return kRow;
}

}  // namespace pagelab::catalogue
