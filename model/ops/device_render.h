#pragma once

/// A cloud on a CUDA device, indexed for rendering, with the renderer's memory
/// (render/device_renderer.h) in torch tensors.
///
/// Errors: StatusException of the renderer. Threads: const methods may run together; RenderTaped
/// and Backward one at a time. Determinism: as the renderer.

#include <torch/types.h>

#include "model/clouds.h"
#include "model/ops/field_tensors.h"
#include "render/device_renderer.h"

namespace interlacer {

struct CudaBackend;

/// Rays on the device; `jitter` [r,samples] or undefined.
struct RayTensors {
  torch::Tensor origins_m;   ///< [r,3]
  torch::Tensor directions;  ///< [r,3], unit
  torch::Tensor jitter;
};

class DeviceCloud {
 public:
  /// float32, contiguous: positions_m [n,3], features [n,F]. `serving_precision` applies to Render.
  DeviceCloud(const RendererConfig& config, const CloudTensors& cloud, const CudaBackend& cuda,
              FieldPrecision serving_precision = FieldPrecision::kFloat32);

  RenderedRays Render(const FieldTensors& field, const RayTensors& rays) const;
  /// Renders without early stop and keeps the tape for Backward.
  RenderedRays RenderTaped(const FieldTensors& field, const RayTensors& rays);
  /// Gradients of positions, features and the field's six tensors from the gradients of
  /// RenderTaped's results.
  std::vector<torch::Tensor> Backward(const FieldTensors& field, const RenderedRays& grad) const;

 private:
  torch::Tensor ServingScratch(std::int64_t ray_count) const;
  torch::Tensor TrainingScratch(std::int64_t ray_count) const;

  const CudaBackend& cuda_;
  DeviceRenderer renderer_;
  torch::Tensor positions_m_, features_;
  torch::Tensor memory_, tape_;
};

}  // namespace interlacer
