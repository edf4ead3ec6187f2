/// \file
/// A Llama in device memory: reference/model/llama.h with a launch in the place of each function. Every kernel computes
/// as the function does, in float64 and in its order (gpu/kernels/model), so what reaches attention, and what becomes
/// of it, has the same bits on the CPU, in the simulator and on a GPU.
///
///     piece 0      embedding   norm  q k v  rotate q, k  round v                                  7 launches and 1
///     layer 0      keys and values stored, attention                                   2 and the backend's own
///     piece 1      o + hidden  norm  gate up  silu  down + hidden   norm  q k v  rotate  round    13 launches
///     ...
///     piece n      o + hidden  norm  gate up  silu  down + hidden   norm                          6 launches and 1
///     logits       the wanted rows, lm_head                                  2, never recorded: their number differs
///
/// Of vLLM's Llama this keeps where a step is cut. It leaves out what makes fewer launches of the same work: one
/// product for q, k and v, and one for gate and up; the norm fused with the residual.
///
/// Where a step's attention is not made of launches alone (LaunchedAttention::takes; a cascade, whose parts are split on
/// the host), its queries, keys and values pass through the host to the layer's AttentionImpl, and its output
/// returns. A graph cannot hold that, so such a step is PIECEWISE at most.
/// \source vLLM model_executor/models/llama.py
#pragma once

#include <memory>
#include <vector>

#include "gpu/backends/kernel_backend.h"
#include "reference/model/llama_config.h"

namespace pagelab {

/// The layers' weights, and arrays for a step.
class DeviceLlama final : public DeviceModel {
 public:
  /// \param backend  that attends; makes the layers on its device
  /// \param model    is copied
  /// \param sizes    of the largest step
  /// \throws Error   if a size is below 1, a cache is not as the model's heads are, or there is not enough memory
  DeviceLlama(const KernelBackend& backend, const Llama& model, const DeviceModelSizes& sizes);
  DeviceLlama(const DeviceLlama&) = delete;             ///< its parts refer to it
  DeviceLlama& operator=(const DeviceLlama&) = delete;  ///< likewise

  const std::shared_ptr<Device>& device() const override { return device_; }
  StepParts parts() override;
  void set_graph_shape(std::int64_t num_tokens,
                       std::int64_t num_reqs,
                       std::int64_t max_query_len) override;
  void update(const LlamaBatch& padded) override;
  Tensor logits() override;

  /// The persistent token ids, for tests that spoil them. [max_num_tokens]
  const DeviceArray& token_ids() const { return token_ids_; }

 private:
  // A layer's weights, named and shaped as in llama_weights.h.
  struct Weights {
    DeviceArray input_layernorm;
    DeviceArray q_proj;
    DeviceArray k_proj;
    DeviceArray v_proj;
    DeviceArray o_proj;
    DeviceArray post_attention_layernorm;
    DeviceArray gate_proj;
    DeviceArray up_proj;
    DeviceArray down_proj;
  };

  void copy_weights(const Llama& model);
  void allocate(std::int64_t max_num_tokens, std::int64_t max_num_reqs);
  DeviceArray doubles(std::int64_t count, const char* name) const;

  void launch_piece(std::size_t piece) const;
  void launch_embedding() const;
  void launch_queries_keys_values(const Weights& weights) const;
  void launch_output_and_mlp(const Weights& weights) const;
  void launch_attention_of(std::size_t layer) const;
  void attend_by_way_of_the_host(std::size_t layer) const;

  void launch_norm(const DeviceArray& input, const DeviceArray& weight) const;
  void launch_linear(const DeviceArray& input,
                     std::int64_t input_size,
                     const DeviceArray& weight,
                     std::int64_t output_size,
                     const DeviceArray& output,
                     const DeviceArray* residual = nullptr) const;
  void launch_rotation(const DeviceArray& input, std::int64_t num_heads, void* output) const;

  std::shared_ptr<Device> device_;
  KernelSet kernels_;
  LlamaConfig config_;
  PersistentBatch batch_;
  std::unique_ptr<LaunchedAttention> attention_;
  std::vector<std::unique_ptr<KernelImpl>> layers_;

  std::vector<Weights> weights_;
  DeviceArray embed_tokens_;   // [vocab_size, hidden_size]
  DeviceArray norm_;           // [hidden_size]
  DeviceArray lm_head_;        // [hidden_size, vocab_size]
  DeviceArray cos_sin_cache_;  // [max_position_embeddings, head_dim]

  DeviceArray token_ids_;       // [max_num_tokens]
  DeviceArray positions_;       // [max_num_tokens]
  DeviceArray hidden_;          // [max_num_tokens, hidden_size]
  DeviceArray normed_;          // [max_num_tokens, hidden_size]
  DeviceArray query_;           // [max_num_tokens, num_attention_heads · head_dim], not yet turned
  DeviceArray key_;             // [max_num_tokens, num_key_value_heads · head_dim], not yet turned
  DeviceArray value_;           // [max_num_tokens, num_key_value_heads · head_dim]
  DeviceArray gate_;            // [max_num_tokens, intermediate_size]
  DeviceArray up_;              // [max_num_tokens, intermediate_size]
  DeviceArray output_;          // [max_num_tokens, num_attention_heads, head_dim] float32
  DeviceArray lse_;             // [num_attention_heads, max_num_tokens] float32
  DeviceArray workspace_;       // of the attention kernels
  DeviceArray logits_indices_;  // [max_num_reqs]
  DeviceArray wanted_;          // [max_num_reqs, hidden_size]
  DeviceArray logits_;          // [max_num_reqs, vocab_size]

  LaunchShape shape_;
  CommonAttentionMetadata metadata_;           // of the step, for attention by way of the host
  std::int64_t num_common_prefix_blocks_ = 0;  // of the step; 0: no cascade
  std::int64_t num_logits_ = 0;                // rows wanted of the step
};

}  // namespace pagelab
