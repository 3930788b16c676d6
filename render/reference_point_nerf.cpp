#include "common/check.h"
#include "common/thread_pool.h"
#include "render/reference_renderer.h"
#include "render/renderer_checks.h"

namespace interlacer {
namespace {

class ReferenceTape : public RenderTape {
 public:
  ReferenceScene scene;
  std::vector<float> origins_m, directions, jitter;

  RayBatch rays() const { return {origins_m, directions, jitter}; }
};

void AddTo(std::span<float> target, const std::vector<double>& values) {
  for (std::size_t i = 0; i < target.size(); ++i) target[i] += static_cast<float>(values[i]);
}

/// The reference behind the renderer's interface.
class ReferencePointNerf : public PointNerfRenderer {
 public:
  explicit ReferencePointNerf(const RendererConfig& config) : config_(config) {
    const Status status = ValidateRendererConfig(config);
    INTERLACER_CHECK(status.ok(), status.ToString());
  }

  Status SetParticles(std::span<const float> positions_m,
                      std::span<const float> features) override {
    INTERLACER_RETURN_IF_ERROR(CheckParticles(config_, positions_m, features));
    positions_m_.assign(positions_m.begin(), positions_m.end());
    features_.assign(features.begin(), features.end());
    return Status::Ok();
  }

  Status Render(const FieldWeights& field, const RayBatch& rays,
                const RayOutputs& out) const override {
    INTERLACER_RETURN_IF_ERROR(CheckRender(config_, field, rays, out));
    RenderAll(MakeReferenceScene(config_, positions_m_, features_, field), rays,
              config_.stop_transmittance, out);
    return Status::Ok();
  }

  StatusOr<std::shared_ptr<const RenderTape>> RenderForTraining(
      const FieldWeights& field, const RayBatch& rays, const RayOutputs& out) const override {
    INTERLACER_RETURN_IF_ERROR(CheckRender(config_, field, rays, out));
    auto tape = std::make_shared<ReferenceTape>();
    tape->scene = MakeReferenceScene(config_, positions_m_, features_, field);
    tape->origins_m.assign(rays.origins_m.begin(), rays.origins_m.end());
    tape->directions.assign(rays.directions.begin(), rays.directions.end());
    tape->jitter.assign(rays.jitter.begin(), rays.jitter.end());
    RenderAll(tape->scene, rays, 0.0, out);
    return std::shared_ptr<const RenderTape>(std::move(tape));
  }

  Status RenderBackward(const FieldWeights& field, const RenderTape& tape,
                        std::span<const float> grad_rgb, std::span<const float> grad_distance,
                        std::span<const float> grad_opacity, std::span<float> position_grad,
                        std::span<float> feature_grad,
                        const FieldGradients& field_grad) const override {
    const auto* own_tape = dynamic_cast<const ReferenceTape*>(&tape);
    INTERLACER_CHECK(own_tape != nullptr, "a tape of another renderer class");
    const ReferenceScene& scene = own_tape->scene;
    const std::int64_t ray_count = static_cast<std::int64_t>(own_tape->origins_m.size() / 3);
    INTERLACER_RETURN_IF_ERROR(CheckBackward(
        scene.config, field, static_cast<std::int64_t>(scene.selection_positions_m.size() / 3),
        ray_count, grad_rgb, grad_distance, grad_opacity, position_grad, feature_grad, field_grad));
    ReferenceGradients sums = MakeZeroGradients(scene);
    for (std::int64_t r = 0; r < ray_count; ++r) {
      RayGradient<double> grad;
      for (int c = 0; c < 3 && !grad_rgb.empty(); ++c) grad.rgb[c] = grad_rgb[3 * r + c];
      if (!grad_distance.empty()) grad.distance_m = grad_distance[r];
      if (!grad_opacity.empty()) grad.opacity = grad_opacity[r];
      RenderReferenceRayBackward(scene, own_tape->rays(), r, grad, sums);
    }
    AddTo(position_grad, sums.positions_m);
    AddTo(feature_grad, sums.features);
    AddTo(field_grad.w1, sums.field.w1);
    AddTo(field_grad.b1, sums.field.b1);
    AddTo(field_grad.w2, sums.field.w2);
    AddTo(field_grad.b2, sums.field.b2);
    AddTo(field_grad.w3, sums.field.w3);
    AddTo(field_grad.b3, sums.field.b3);
    return Status::Ok();
  }

 private:
  static void RenderAll(const ReferenceScene& scene, const RayBatch& rays,
                        double stop_transmittance, const RayOutputs& out) {
    ParallelFor(static_cast<std::int64_t>(rays.origins_m.size() / 3), 1,
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t r = begin; r < end; ++r) {
                    const RayState<double> ray =
                        RenderReferenceRay(scene, rays, r, stop_transmittance);
                    for (int c = 0; c < 3; ++c) {
                      out.rgb[3 * r + c] = static_cast<float>(ray.rgb[c]);
                    }
                    out.distance_m[r] = static_cast<float>(ray.distance_m);
                    out.opacity[r] = static_cast<float>(1 - ray.transmittance);
                  }
                });
  }

  RendererConfig config_;
  std::vector<float> positions_m_, features_;
};

}  // namespace

std::unique_ptr<PointNerfRenderer> MakeReferenceRenderer(const RendererConfig& config) {
  return std::make_unique<ReferencePointNerf>(config);
}

}  // namespace interlacer
