#pragma once

/// The k nearest particles of any points, by the renderer's tree.
///
///   particles_m [n,3], points_m [m,3] float32, finite
/// Nearest first; order: float32 squared distance dx*dx + dy*dy + dz*dz, then index. Fast where
/// points that follow each other are near each other, as pixels of a row are. Equal results for any
/// thread count and instruction set. Threads: pure function. 1 <= k <= 16.

#include <cstdint>
#include <span>
#include <vector>

namespace interlacer {

inline constexpr std::int32_t kNoParticle = -1;

struct NearestParticles {
  std::vector<std::int32_t> indices;  ///< [m,k], kNoParticle beyond the particles there are
  std::vector<float> sq_dist_m2;      ///< [m,k], infinity there
};

NearestParticles FindNearestParticles(std::span<const float> particles_m,
                                      std::span<const float> points_m, int k);

}  // namespace interlacer
