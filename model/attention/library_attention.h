#pragma once

/// A mechanism of the attention library between dense projections, as a layer of the Interlacer.
///
/// Heads share width and key width equally. The mechanism reads the graph of its layer and the
/// positions of the tokens in metres, learns its parameters but for random draws, which stay those
/// of its options' seed, and goes the way that it chooses itself (core/attention.h).
/// On the CPU alone. Errors: StatusException of core/attention.h, DATA_LOSS PREDICTION_NOT_FINITE
/// where the network's numbers are not finite, RESOURCE_EXHAUSTED where tokens see too many others.
/// Threads: as torch modules.

#include <memory>
#include <string_view>

#include "common/status.h"
#include "model/attention/core/attention.h"
#include "model/attention/projected.h"
#include "model/config.h"
#include "model/layers/layers.h"

namespace interlacer {

enum class LayerPlace { kGlobal, kLocal };

class LibraryAttention : public ProjectedAttention {
 public:
  /// The configuration has a valid mechanism at that place.
  LibraryAttention(const NetworkConfig& config, LayerPlace place, Precision precision);

  torch::Tensor Mix(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                    const TokenGraph& graph) const override;

  const attention::Attention& attention() const { return attention_; }
  /// What a mechanism reads, without its parameters: q, k [T,key width], v [T,width] as heads.
  attention::AttentionInputs InputsOf(const torch::Tensor& q, const torch::Tensor& k,
                                      const torch::Tensor& v, const TokenGraph& graph) const;
  /// The parameters as they are now.
  attention::NamedTensors Learned() const;

 private:
  LayerPlace place_;
  std::int64_t head_count_;
  attention::Attention attention_;
  std::shared_ptr<torch::nn::Module> learned_;
};

/// Name of the submodule that holds the learnt parameters of a layer's mechanism.
inline constexpr char kMechanismModule[] = "mechanism";

/// Whether a mechanism's parameter of this name is a random draw, which is not learnt.
bool IsRandomDraw(std::string_view name);

/// Whether the model's parameter of this name belongs to a mechanism of the library, which gives it
/// its first value.
bool IsOfMechanism(std::string_view parameter_name);

/// INVALID_ARGUMENT CONFIG_INVALID at network.global.mechanism or network.local.mechanism, or a key
/// below, unless what is named there exists, takes the options, needs no more than positions and
/// graph, has a way that makes no L x L array, and no parameter for every token. The mechanism runs
/// on four tokens to find out.
Status CheckMechanisms(const NetworkConfig& config);

}  // namespace interlacer
