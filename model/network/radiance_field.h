#pragma once

/// The weights of the renderer's field (render/radiance_field.h) as torch parameters; the renderer
/// evaluates the field. Threads: as torch modules.

#include <torch/nn/module.h>

#include <memory>

#include "model/layers/layers.h"
#include "model/ops/render_op.h"

namespace interlacer {

class RadianceField : public torch::nn::Module {
 public:
  explicit RadianceField(const RendererConfig& config);
  FieldTensors tensors() const;

 private:
  std::shared_ptr<Dense> first_, second_, out_;
};

}  // namespace interlacer
