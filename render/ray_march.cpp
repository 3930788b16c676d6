#include "render/ray_march.h"

#include "render/rays.h"

namespace interlacer {

void MarchRays(const RendererConfig& config, const OccupancyGrid* occupancy, const RayBatch& rays,
               std::int64_t ray_begin, std::int64_t ray_end, LiveSamples& live) {
  live.first.assign(1, 0);
  live.points_m.clear();
  live.t_m.clear();
  live.delta_m.clear();
  const int sample_count = config.samples_per_ray;
  for (std::int64_t r = ray_begin; r < ray_end; ++r) {
    const float* origin = rays.origins_m.data() + 3 * r;
    const float* direction = rays.directions.data() + 3 * r;
    const auto distance = [&](int s) {
      if (s == sample_count) return config.far_m;
      const float xi = rays.jitter.empty() ? 0.5f : rays.jitter[r * sample_count + s];
      return SampleDistance(config, s, xi);
    };
    float t_m = distance(0);
    for (int s = 0; s < sample_count; ++s) {
      const float next_m = distance(s + 1);
      const float point[3] = {origin[0] + t_m * direction[0], origin[1] + t_m * direction[1],
                              origin[2] + t_m * direction[2]};
      if (occupancy == nullptr || occupancy->MayBeNear(point)) {
        live.points_m.insert(live.points_m.end(), point, point + 3);
        live.t_m.push_back(t_m);
        live.delta_m.push_back(next_m - t_m);
      }
      t_m = next_m;
    }
    live.first.push_back(live.count());
  }
}

}  // namespace interlacer
