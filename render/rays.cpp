#include "render/rays.h"

#include <cmath>
#include <string>

#include "common/random.h"
#include "common/thread_pool.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

/// The ray through (x, y, 1) in the camera frame, normalised; 1 / length is the cosine to the axis.
void SetRay(const Camera& camera, std::int64_t pixel, std::int64_t row, PixelRays& rays) {
  const std::array<double, 2> xy =
      UndistortPixel(camera, static_cast<double>(pixel % camera.width_px),
                     static_cast<double>(pixel / camera.width_px));
  const double length = std::sqrt(xy[0] * xy[0] + xy[1] * xy[1] + 1.0);
  const Vec3d& origin = camera.world_from_camera.translation_m;
  const Vec3d tip = Apply(camera.world_from_camera, {xy[0] / length, xy[1] / length, 1.0 / length});
  for (int axis = 0; axis < 3; ++axis) {
    rays.origins_m[3 * row + axis] = static_cast<float>(origin[axis]);
    rays.directions[3 * row + axis] = static_cast<float>(tip[axis] - origin[axis]);
  }
  rays.depth_per_distance[row] = static_cast<float>(1.0 / length);
}

}  // namespace

StatusOr<PixelRays> MakePixelRays(const Camera& camera, std::span<const std::int64_t> pixels) {
  INTERLACER_RETURN_IF_ERROR(ValidateCamera(camera));
  const std::int64_t pixel_count = std::int64_t{camera.width_px} * camera.height_px;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] < 0 || pixels[i] >= pixel_count) {
      return OutOfRange(reason::ARGUMENT_INVALID, "expected a pixel index below " +
                                                      std::to_string(pixel_count) + ", got " +
                                                      std::to_string(pixels[i]))
          .WithField("pixels[" + std::to_string(i) + "]");
    }
  }
  PixelRays rays;
  rays.origins_m.resize(3 * pixels.size());
  rays.directions.resize(3 * pixels.size());
  rays.depth_per_distance.resize(pixels.size());
  ParallelFor(static_cast<std::int64_t>(pixels.size()), 4096,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) SetRay(camera, pixels[i], i, rays);
              });
  return rays;
}

std::vector<float> DrawDepthJitter(std::uint64_t seed, std::uint32_t draw, std::int64_t ray_count,
                                   int samples_per_ray) {
  std::vector<float> jitter(static_cast<std::size_t>(ray_count) * samples_per_ray);
  for (std::int64_t r = 0; r < ray_count; ++r) {
    float* row = jitter.data() + r * samples_per_ray;
    // One Philox block gives four numbers.
    for (int s = 0; s < samples_per_ray; s += 4) {
      const PhiloxWords words = Philox(seed, static_cast<std::uint32_t>(RandomStream::kDepthJitter),
                                       draw, static_cast<std::uint32_t>(r), s / 4);
      for (int j = 0; j < 4 && s + j < samples_per_ray; ++j) row[s + j] = ToUniform(words.word[j]);
    }
  }
  return jitter;
}

}  // namespace interlacer
