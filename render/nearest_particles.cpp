#include "render/nearest_particles.h"

#include <limits>

#include "common/check.h"
#include "common/thread_pool.h"
#include "render/cpu_kernels.h"
#include "render/particle_tree.h"

namespace interlacer {
namespace {

/// Points of one search; all follow one hint, the result of the point before.
constexpr std::int64_t kPointsPerChunk = 1024;

}  // namespace

NearestParticles FindNearestParticles(std::span<const float> particles_m,
                                      std::span<const float> points_m, int k) {
  INTERLACER_CHECK(
      k >= 1 && k <= kGatherWidth && particles_m.size() % 3 == 0 && points_m.size() % 3 == 0,
      "sizes of a search for particles");
  const auto count = static_cast<std::int64_t>(points_m.size() / 3);
  const auto width = static_cast<std::size_t>(k);
  NearestParticles found{std::vector<std::int32_t>(width * count, kNoParticle),
                         std::vector<float>(width * count, std::numeric_limits<float>::infinity())};
  if (particles_m.empty()) return found;
  const ParticleTree tree(particles_m, {}, 0);
  const GatherNearestFn gather = BestRenderKernels().gather_nearest;
  ParallelFor(count, kPointsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t m = end - begin;
    const std::vector<std::int32_t> one_row(static_cast<std::size_t>(m), 0);
    std::vector<std::uint32_t> hint(kGatherWidth, kNoSlot), slots(kGatherWidth * m);
    std::vector<float> sq_dist_m2(kGatherWidth * m);
    gather(tree.view(), k, points_m.data() + 3 * begin, one_row.data(), m, hint.data(),
           slots.data(), sq_dist_m2.data());
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < k; ++j) {
        const std::uint32_t slot = slots[kGatherWidth * i + j];
        if (slot == kNoSlot) break;
        const std::size_t at = (begin + i) * k + j;
        found.indices[at] = static_cast<std::int32_t>(tree.original_index()[slot]);
        found.sq_dist_m2[at] = sq_dist_m2[kGatherWidth * i + j];
      }
    }
  });
  return found;
}

}  // namespace interlacer
