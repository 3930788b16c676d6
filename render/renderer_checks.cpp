#include "render/renderer_checks.h"

#include <cmath>
#include <string>

#include "render/kernels/annular_sums.h"
#include "render/kernels/gather16.h"

namespace interlacer {
namespace {

constexpr int kMaxFeatureWidth = 64;
constexpr int kMaxSamplesPerRay = 1024;
constexpr int kMaxHiddenWidth = 512;
constexpr float kUnitTolerance = 1e-3f;

Status CheckRange(const char* field, int value, int max) {
  if (value >= 1 && value <= max) return Status::Ok();
  return Mismatch(reason::CONFIG_INVALID, field, "1.." + std::to_string(max),
                  std::to_string(value));
}

Status CheckSize(const std::string& field, std::size_t got, std::size_t expected) {
  if (got == expected) return Status::Ok();
  return Mismatch(reason::SHAPE_MISMATCH, field, std::to_string(expected) + " values",
                  std::to_string(got));
}

Status CheckSizeOrEmpty(const std::string& field, std::size_t got, std::size_t expected) {
  return got == 0 ? Status::Ok() : CheckSize(field, got, expected);
}

Status CheckFinite(const std::string& field, std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return Mismatch(reason::NOT_FINITE, field + "[" + std::to_string(i) + "]", "a finite number",
                      std::to_string(values[i]));
    }
  }
  return Status::Ok();
}

/// Checks the six arrays of weights or of their gradients.
template <typename Arrays>
Status CheckFieldSizes(const RendererConfig& config, const std::string& name, const Arrays& a) {
  const std::size_t in = FieldInputWidth(config), hidden = config.hidden_width;
  INTERLACER_RETURN_IF_ERROR(CheckSize(name + ".w1", a.w1.size(), hidden * in));
  INTERLACER_RETURN_IF_ERROR(CheckSize(name + ".b1", a.b1.size(), hidden));
  INTERLACER_RETURN_IF_ERROR(CheckSize(name + ".w2", a.w2.size(), hidden * hidden));
  INTERLACER_RETURN_IF_ERROR(CheckSize(name + ".b2", a.b2.size(), hidden));
  INTERLACER_RETURN_IF_ERROR(CheckSize(name + ".w3", a.w3.size(), kFieldOutputWidth * hidden));
  return CheckSize(name + ".b3", a.b3.size(), kFieldOutputWidth);
}

Status CheckField(const RendererConfig& config, const FieldWeights& field) {
  INTERLACER_RETURN_IF_ERROR(CheckFieldSizes(config, "field", field));
  INTERLACER_RETURN_IF_ERROR(CheckFinite("field.w1", field.w1));
  INTERLACER_RETURN_IF_ERROR(CheckFinite("field.b1", field.b1));
  INTERLACER_RETURN_IF_ERROR(CheckFinite("field.w2", field.w2));
  INTERLACER_RETURN_IF_ERROR(CheckFinite("field.b2", field.b2));
  INTERLACER_RETURN_IF_ERROR(CheckFinite("field.w3", field.w3));
  return CheckFinite("field.b3", field.b3);
}

Status CheckRays(const RendererConfig& config, const RayBatch& rays) {
  const std::size_t count = rays.origins_m.size() / 3;
  INTERLACER_RETURN_IF_ERROR(CheckSize("rays.origins_m", rays.origins_m.size(), 3 * count));
  INTERLACER_RETURN_IF_ERROR(CheckSize("rays.directions", rays.directions.size(), 3 * count));
  INTERLACER_RETURN_IF_ERROR(
      CheckSizeOrEmpty("rays.jitter", rays.jitter.size(), count * config.samples_per_ray));
  INTERLACER_RETURN_IF_ERROR(CheckFinite("rays.origins_m", rays.origins_m));
  INTERLACER_RETURN_IF_ERROR(CheckFinite("rays.directions", rays.directions));
  for (std::size_t r = 0; r < count; ++r) {
    const float* d = rays.directions.data() + 3 * r;
    const float length = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (std::fabs(length - 1.f) > kUnitTolerance) {
      return Mismatch(reason::ARGUMENT_INVALID, "rays.directions[" + std::to_string(r) + "]",
                      "length 1", std::to_string(length));
    }
  }
  for (std::size_t i = 0; i < rays.jitter.size(); ++i) {
    if (!(rays.jitter[i] >= 0.f && rays.jitter[i] < 1.f)) {
      return Mismatch(reason::ARGUMENT_INVALID, "rays.jitter[" + std::to_string(i) + "]",
                      "a number in [0,1)", std::to_string(rays.jitter[i]));
    }
  }
  return Status::Ok();
}

}  // namespace

Status ValidateRendererConfig(const RendererConfig& c) {
  INTERLACER_RETURN_IF_ERROR(CheckRange("feature_width", c.feature_width, kMaxFeatureWidth));
  INTERLACER_RETURN_IF_ERROR(CheckRange("neighbor_count", c.neighbor_count, kGatherWidth));
  INTERLACER_RETURN_IF_ERROR(CheckRange("samples_per_ray", c.samples_per_ray, kMaxSamplesPerRay));
  INTERLACER_RETURN_IF_ERROR(CheckRange("hidden_width", c.hidden_width, kMaxHiddenWidth));
  INTERLACER_RETURN_IF_ERROR(CheckRange(
      "kernel_radii_m.size", static_cast<int>(c.kernel_radii_m.size()), kMaxAnnularKernels));
  if (c.kernel_bandwidths_m.size() != c.kernel_radii_m.size()) {
    return Mismatch(reason::CONFIG_INVALID, "kernel_bandwidths_m",
                    std::to_string(c.kernel_radii_m.size()) + " values",
                    std::to_string(c.kernel_bandwidths_m.size()));
  }
  const auto positive = [](float x) { return std::isfinite(x) && x > 0; };
  for (std::size_t b = 0; b < c.kernel_radii_m.size(); ++b) {
    if (!(std::isfinite(c.kernel_radii_m[b]) && c.kernel_radii_m[b] >= 0)) {
      return Mismatch(reason::CONFIG_INVALID, "kernel_radii_m[" + std::to_string(b) + "]",
                      "a finite length >= 0", std::to_string(c.kernel_radii_m[b]));
    }
    if (!positive(c.kernel_bandwidths_m[b])) {
      return Mismatch(reason::CONFIG_INVALID, "kernel_bandwidths_m[" + std::to_string(b) + "]",
                      "a finite length > 0", std::to_string(c.kernel_bandwidths_m[b]));
    }
  }
  if (!positive(c.empty_radius_m)) {
    return Mismatch(reason::CONFIG_INVALID, "empty_radius_m", "a finite length > 0",
                    std::to_string(c.empty_radius_m));
  }
  if (!(std::isfinite(c.near_m) && c.near_m >= 0 && std::isfinite(c.far_m) && c.near_m < c.far_m)) {
    return Mismatch(reason::CONFIG_INVALID, "far_m", "0 <= near_m < far_m",
                    std::to_string(c.near_m) + " and " + std::to_string(c.far_m));
  }
  if (!(c.stop_transmittance >= 0 && c.stop_transmittance < 1)) {
    return Mismatch(reason::CONFIG_INVALID, "stop_transmittance", "a number in [0,1)",
                    std::to_string(c.stop_transmittance));
  }
  return Status::Ok();
}

Status CheckParticles(const RendererConfig& config, std::span<const float> positions_m,
                      std::span<const float> features) {
  const std::size_t n = positions_m.size() / 3;
  INTERLACER_RETURN_IF_ERROR(CheckSize("positions_m", positions_m.size(), 3 * n));
  INTERLACER_RETURN_IF_ERROR(CheckSize("features", features.size(), n * config.feature_width));
  INTERLACER_RETURN_IF_ERROR(CheckFinite("positions_m", positions_m));
  return CheckFinite("features", features);
}

Status CheckRender(const RendererConfig& config, const FieldWeights& field, const RayBatch& rays,
                   const RayOutputs& out) {
  INTERLACER_RETURN_IF_ERROR(CheckField(config, field));
  INTERLACER_RETURN_IF_ERROR(CheckRays(config, rays));
  const std::size_t count = rays.origins_m.size() / 3;
  INTERLACER_RETURN_IF_ERROR(CheckSize("out.rgb", out.rgb.size(), 3 * count));
  INTERLACER_RETURN_IF_ERROR(CheckSize("out.distance_m", out.distance_m.size(), count));
  return CheckSize("out.opacity", out.opacity.size(), count);
}

Status CheckBackward(const RendererConfig& config, const FieldWeights& field,
                     std::int64_t particle_count, std::int64_t ray_count,
                     std::span<const float> grad_rgb, std::span<const float> grad_distance,
                     std::span<const float> grad_opacity, std::span<const float> position_grad,
                     std::span<const float> feature_grad, const FieldGradients& field_grad) {
  INTERLACER_RETURN_IF_ERROR(CheckField(config, field));
  INTERLACER_RETURN_IF_ERROR(CheckSizeOrEmpty("grad_rgb", grad_rgb.size(), 3 * ray_count));
  INTERLACER_RETURN_IF_ERROR(CheckSizeOrEmpty("grad_distance", grad_distance.size(), ray_count));
  INTERLACER_RETURN_IF_ERROR(CheckSizeOrEmpty("grad_opacity", grad_opacity.size(), ray_count));
  INTERLACER_RETURN_IF_ERROR(
      CheckSizeOrEmpty("position_grad", position_grad.size(), 3 * particle_count));
  INTERLACER_RETURN_IF_ERROR(
      CheckSizeOrEmpty("feature_grad", feature_grad.size(), config.feature_width * particle_count));
  return CheckFieldSizes(config, "field_grad", field_grad);
}

}  // namespace interlacer
