#pragma once

/// A network of attention layers over padded batches: of every mechanism of the library, by name.
///
///   batch [B,L,F]  ->  embedding, layers [B,L,width]  ->  mean over tokens  ->  [B,T]
/// Examples with graphs of their own go through a mechanism as one graph of many parts, where it
/// treats them apart (Attention::PacksGraphs), else one by one, as those with places of their
/// own do, unpadded; all others go together, with the key mask. So padding and company change
/// nothing but rounding. On the CPU, float32. Errors: StatusException CONFIG_INVALID at
/// "layers[i]..." with the mechanism's own words; those of model/attention/core/attention.h.
/// Threads: as torch modules. Source: gkat, Sec. 4.2 and 5.1.

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/attention/core/attention.h"
#include "model/layers/feed_forward.h"
#include "model/layers/layers.h"
#include "model/learning/batch.h"
#include "model/learning/learning_config.h"

namespace interlacer {

/// x weight^T, without a bias.
class DenseMap : public torch::nn::Module {
 public:
  DenseMap(std::int64_t in_width, std::int64_t out_width);
  torch::Tensor Forward(const torch::Tensor& x) const;

 private:
  torch::Tensor weight_;  ///< [out,in]
};

class AttentionLayer : public torch::nn::Module {
 public:
  /// `probe`: a batch of the set, of which the mechanism learns what its parameters depend on.
  AttentionLayer(const AttentionLayerConfig& config, std::int64_t in_width, std::uint64_t seed,
                 const Batch& probe);
  /// [B,L,in width] -> [B,L,head_count head_width], 0 where padded.
  torch::Tensor Forward(const torch::Tensor& x, const Batch& batch);
  std::int64_t out_width() const { return config_.head_count * config_.head_width; }

 private:
  /// Queries, keys and values [B,L,heads head width].
  struct Maps {
    torch::Tensor q, k, v;
  };
  Maps MapsOf(const torch::Tensor& x) const;
  torch::Tensor Attend(const torch::Tensor& x, const Batch& batch) const;
  torch::Tensor Run(const attention::AttentionInputs& inputs) const;
  /// Of one example, or of all that go together.
  attention::AttentionInputs InputsOf(const Maps& maps, const Batch& batch,
                                      std::optional<std::int64_t> example) const;
  /// Of all examples as one, with their graphs beside each other.
  attention::AttentionInputs PackedInputsOf(const Maps& maps, const Batch& batch) const;
  void AddParameters(attention::AttentionInputs* inputs) const;

  AttentionLayerConfig config_;
  attention::Attention attention_;
  std::optional<attention::Way> way_;
  std::shared_ptr<torch::nn::Module> learned_;
  std::shared_ptr<DenseMap> query_, key_, value_;  ///< null where the maps have none
  std::shared_ptr<Dense> out_;
  std::shared_ptr<LayerNorm> norm_, feed_forward_norm_;
  std::shared_ptr<FeedForward> feed_forward_;
};

class TokenNetwork : public torch::nn::Module {
 public:
  /// All first values depend on the arguments alone.
  TokenNetwork(const TokenNetworkConfig& config, const ExampleForm& form, std::uint64_t seed,
               const Batch& probe);
  /// [B,target_width]: logits of classes, or numbers.
  torch::Tensor Forward(const Batch& batch);
  std::int64_t ParameterCount() const;

 private:
  std::shared_ptr<Dense> embedding_;
  torch::Tensor places_;  ///< [L,width] or undefined
  std::vector<std::shared_ptr<AttentionLayer>> layers_;
  std::shared_ptr<LayerNorm> norm_;  ///< after a last layer that is residual
  std::shared_ptr<Dense> head_;
};

}  // namespace interlacer
