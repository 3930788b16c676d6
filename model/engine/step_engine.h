#pragma once

/// Inference steps of a model with the form of every layer bound once, at load.
///
/// On the host in bfloat16 and on a CUDA device each layer is bound to its fused form with packed
/// weights where there is one, else to its torch form (model/network); the choice is logged with
/// the first reason against a fused form. A model in float64 has torch forms alone. Steps equal
/// WorldModel::Step without gradients up to what the fused forms round. Weights must not change and
/// the model must not move while the engine lives. Errors and threads: as WorldModel.

#include <functional>
#include <vector>

#include "model/engine/cuda_layers.h"
#include "model/network/world_model.h"

namespace interlacer {

class StepEngine {
 public:
  /// The model must outlive the engine.
  explicit StepEngine(WorldModel* model);

  CloudTensors Step(const StepInput& input) const;

  /// Attention and feed-forward layers, and how many of them have fused forms.
  int layer_count() const { return static_cast<int>(layers_.size()); }
  int fused_count() const { return fused_count_; }

 private:
  struct Layer {
    LayerForm form;
    bool selects_newer = false;  ///< the last attention: only the newer cloud's rows go on
  };

  void BindTokens();
  void BindLayers();
  std::string BindHead();  ///< why it has no fused form; empty where it has
  void Bind(BoundForm bound, LayerForm torch_form, bool selects_newer);

  WorldModel* model_;
  std::function<TokenSet(const StepInput& input)> tokens_;
  std::vector<Layer> layers_;
  HeadForm head_;
  int fused_count_ = 0;
  std::string why_not_;  ///< the first reason against fused forms
};

}  // namespace interlacer
