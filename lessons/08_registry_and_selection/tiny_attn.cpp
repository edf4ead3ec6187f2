// Lesson 08: TINY_ATTN as a backend that runs. It computes on the CPU as REFERENCE_FLOAT does; a real one
// launches kernels of its own there. The last line registers it. Compile this file into the program with
//
//     cmake --preset default -DPAGELAB_OWN_BACKENDS=$PWD/lessons/08_registry_and_selection/tiny_attn.cpp
//
// To use your own row, include exercise.h instead of solution.h.

#include "gpu/backends/register_backend.h"
#include "lessons/08_registry_and_selection/solution.h"
#include "reference/registry/reference_backends.h"

namespace pagelab::lesson_08 {
namespace {

class TinyAttentionBackend : public AttentionBackend {
 public:
  std::string name() const override { return "TINY_ATTN"; }
  std::string target() const override { return "cpu"; }
  Precision precision(const AttentionStep& step, std::int64_t req_idx) const override {
    return computes_->precision(step, req_idx);
  }
  std::unique_ptr<AttentionImpl> make_impl(const KvCache& initial_cache) const override {
    return computes_->make_impl(initial_cache);
  }

 private:
  std::unique_ptr<AttentionBackend> computes_ = make_reference_float_backend();
};

std::unique_ptr<AttentionBackend> make_tiny_attn(const std::string& /*target*/) {
  return std::make_unique<TinyAttentionBackend>();
}

const std::string kLogLine =
    register_backend({{"TINY_ATTN", {"cpu"}, tiny_attn_row()}, make_tiny_attn});

}  // namespace
}  // namespace pagelab::lesson_08
