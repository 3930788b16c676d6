#include "render/device_renderer.h"

namespace interlacer {
namespace {

Status NotBuilt() {
  return Unimplemented(reason::FEATURE_NOT_BUILT, "renderer on CUDA: built without CUDA");
}

}  // namespace

DeviceRenderer::DeviceRenderer(const RendererConfig& config, FieldPrecision serving_precision,
                               std::int64_t pass_samples)
    : config_(config), serving_precision_(serving_precision), pass_samples_(pass_samples) {}

std::size_t DeviceRenderer::CloudBytes(std::int64_t) const { return 0; }
std::size_t DeviceRenderer::TapeBytes(std::int64_t) const { return 0; }
std::size_t DeviceRenderer::ServingScratchBytes(std::int64_t, std::int64_t) const { return 0; }
std::size_t DeviceRenderer::TrainingScratchBytes(std::int64_t) const { return 0; }

Status DeviceRenderer::SetParticles(const float*, const float*, std::int64_t, void*, void*, void*) {
  return NotBuilt();
}

Status DeviceRenderer::Render(const DeviceField&, const DeviceRays&, const DeviceRayOutputs&, void*,
                              void*) const {
  return NotBuilt();
}

Status DeviceRenderer::RenderForTraining(const DeviceField&, const DeviceRays&,
                                         const DeviceRayOutputs&, void*, void*, void*) const {
  return NotBuilt();
}

Status DeviceRenderer::RenderBackward(const DeviceField&, const void*, std::int64_t,
                                      const DeviceRayGradients&, const DeviceParticleGradients&,
                                      const DeviceFieldGradients&, void*, void*) const {
  return NotBuilt();
}

}  // namespace interlacer
