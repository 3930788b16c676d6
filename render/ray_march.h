#pragma once

/// Finds the samples along a range of rays that may lie near a particle.
/// Order: ray by ray, near to far. Pure function, thread-safe.

#include <cstdint>
#include <vector>

#include "render/occupancy_grid.h"
#include "render/renderer.h"

namespace interlacer {

/// Samples of rays ray_begin .. ray_end - 1; `first` has one entry a ray and one more.
struct LiveSamples {
  std::vector<std::int32_t> first;
  std::vector<float> points_m;  ///< [samples,3]
  std::vector<float> t_m;
  std::vector<float> delta_m;  ///< distance to the next sample of the ray, live or not

  std::int32_t count() const { return static_cast<std::int32_t>(t_m.size()); }
};

/// Every sample is live when `occupancy` is null.
void MarchRays(const RendererConfig& config, const OccupancyGrid* occupancy, const RayBatch& rays,
               std::int64_t ray_begin, std::int64_t ray_end, LiveSamples& live);

}  // namespace interlacer
