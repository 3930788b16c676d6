#include "model/ops/device_render.h"

#include <ATen/Functions.h>

#include "model/cuda/backend.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

const float* Floats(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.numel() > 0 ? tensor.const_data_ptr<float>() : nullptr;
}

float* MutableFloats(const torch::Tensor& tensor) { return tensor.mutable_data_ptr<float>(); }

DeviceField PointersTo(const FieldTensors& field) {
  return {Floats(field[0]), Floats(field[1]), Floats(field[2]),
          Floats(field[3]), Floats(field[4]), Floats(field[5])};
}

DeviceRays PointersTo(const RayTensors& rays) {
  return {rays.origins_m.size(0), Floats(rays.origins_m), Floats(rays.directions),
          Floats(rays.jitter)};
}

RenderedRays EmptyResults(const RayTensors& rays) {
  const std::int64_t count = rays.origins_m.size(0);
  const auto options = rays.origins_m.options();
  return {at::empty({count, 3}, options), at::empty({count}, options), at::empty({count}, options)};
}

DeviceRayOutputs PointersTo(const RenderedRays& out) {
  return {MutableFloats(out.rgb), MutableFloats(out.distance_m), MutableFloats(out.opacity)};
}

}  // namespace

DeviceCloud::DeviceCloud(const RendererConfig& config, const CloudTensors& cloud,
                         const CudaBackend& cuda, FieldPrecision serving_precision)
    : cuda_(cuda),
      renderer_(config, cuda.kernels.render, serving_precision),
      positions_m_(cloud.positions_m),
      features_(cloud.features) {
  const std::int64_t n = positions_m_.size(0);
  memory_ = DeviceScratch(renderer_.CloudBytes(n), positions_m_);
  const torch::Tensor scratch = ServingScratch(0);
  ThrowIfError(renderer_.SetParticles(Floats(positions_m_), Floats(features_), n,
                                      memory_.mutable_data_ptr(), scratch.mutable_data_ptr(),
                                      cuda_.stream_of(positions_m_)));
}

torch::Tensor DeviceCloud::ServingScratch(std::int64_t ray_count) const {
  return DeviceScratch(renderer_.ServingScratchBytes(positions_m_.size(0), ray_count),
                       positions_m_);
}

torch::Tensor DeviceCloud::TrainingScratch(std::int64_t ray_count) const {
  return DeviceScratch(renderer_.TrainingScratchBytes(ray_count), positions_m_);
}

RenderedRays DeviceCloud::Render(const FieldTensors& field, const RayTensors& rays) const {
  const RenderedRays out = EmptyResults(rays);
  const torch::Tensor scratch = ServingScratch(rays.origins_m.size(0));
  ThrowIfError(renderer_.Render(PointersTo(field), PointersTo(rays), PointersTo(out),
                                scratch.mutable_data_ptr(), cuda_.stream_of(positions_m_)));
  return out;
}

RenderedRays DeviceCloud::RenderTaped(const FieldTensors& field, const RayTensors& rays) {
  const RenderedRays out = EmptyResults(rays);
  const std::int64_t count = rays.origins_m.size(0);
  tape_ = DeviceScratch(renderer_.TapeBytes(count), positions_m_);
  const torch::Tensor scratch = TrainingScratch(count);
  ThrowIfError(renderer_.RenderForTraining(PointersTo(field), PointersTo(rays), PointersTo(out),
                                           tape_.mutable_data_ptr(), scratch.mutable_data_ptr(),
                                           cuda_.stream_of(positions_m_)));
  return out;
}

std::vector<torch::Tensor> DeviceCloud::Backward(const FieldTensors& field,
                                                 const RenderedRays& grad) const {
  std::vector<torch::Tensor> result{at::zeros_like(positions_m_), at::zeros_like(features_)};
  for (const torch::Tensor& weight : field) result.push_back(at::zeros_like(weight));
  const std::int64_t count = grad.distance_m.size(0);
  const torch::Tensor scratch = TrainingScratch(count);
  ThrowIfError(renderer_.RenderBackward(
      PointersTo(field), tape_.const_data_ptr(), count,
      {Floats(grad.rgb), Floats(grad.distance_m), Floats(grad.opacity)},
      {MutableFloats(result[0]), MutableFloats(result[1])},
      {MutableFloats(result[2]), MutableFloats(result[3]), MutableFloats(result[4]),
       MutableFloats(result[5]), MutableFloats(result[6]), MutableFloats(result[7])},
      scratch.mutable_data_ptr(), cuda_.stream_of(positions_m_)));
  return result;
}

}  // namespace interlacer
