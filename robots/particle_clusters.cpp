#include "robots/particle_clusters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "common/check.h"
#include "common/transforms.h"
#include "robots/attachment.h"

namespace interlacer {
namespace {

constexpr double kSupportBandM = 0.01;
constexpr double kAboveSupportM = 0.008;
constexpr double kLinkM = 0.04;
constexpr double kLowM = 0.03, kLowLinkM = 0.012;

/// Mean of the fullest band of kSupportBandM.
double SupportHeight(std::vector<double> heights_m) {
  std::sort(heights_m.begin(), heights_m.end());
  std::size_t best = 0, best_count = 0;
  for (std::size_t first = 0, end = 0; first < heights_m.size(); ++first) {
    while (end < heights_m.size() && heights_m[end] <= heights_m[first] + kSupportBandM) ++end;
    if (end - first <= best_count) continue;
    best = first;
    best_count = end - first;
  }
  double sum_m = 0;
  for (std::size_t i = best; i < best + best_count; ++i) sum_m += heights_m[i];
  return best_count > 0 ? sum_m / static_cast<double>(best_count) : 0;
}

using GridCell = std::array<std::int64_t, 3>;

/// Cells as wide as a link, so that the neighbours of a point lie in 27 of them.
GridCell GridCellOf(const Vec3d& point_m) {
  GridCell cell;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    cell[axis] = static_cast<std::int64_t>(std::floor(point_m[axis] / kLinkM));
  }
  return cell;
}

}  // namespace

ParticleClusters ClusterParticles(std::span<const float> positions_m,
                                  std::span<const std::int32_t> links) {
  INTERLACER_CHECK(positions_m.size() == 3 * links.size(), "sizes of clustered particles");
  std::vector<double> heights_m;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i] == kNotAttached) heights_m.push_back(positions_m[3 * i + 2]);
  }
  ParticleClusters clusters;
  clusters.support_m = SupportHeight(std::move(heights_m));
  std::map<GridCell, std::vector<std::size_t>> left;  // of those that are in no cluster yet
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Vec3d point_m = PositionOf(positions_m, i);
    if (links[i] != kNotAttached || point_m[2] <= clusters.support_m + kAboveSupportM) continue;
    left[GridCellOf(point_m)].push_back(i);
  }
  std::vector<std::size_t> seeds;
  for (const auto& [cell, points] : left) seeds.insert(seeds.end(), points.begin(), points.end());
  std::sort(seeds.begin(), seeds.end());
  std::vector<char> is_taken(links.size(), 0);
  for (const std::size_t seed : seeds) {
    if (is_taken[seed]) continue;
    is_taken[seed] = 1;
    std::vector<std::size_t> members{seed};
    for (std::size_t next = 0; next < members.size(); ++next) {
      const Vec3d point_m = PositionOf(positions_m, members[next]);
      const GridCell home = GridCellOf(point_m);
      for (std::int64_t k = 0; k < 27; ++k) {
        const auto near =
            left.find({home[0] + k % 3 - 1, home[1] + k / 3 % 3 - 1, home[2] + k / 9 - 1});
        if (near == left.end()) continue;
        // What is taken leaves its cell, so that each point is looked at by few others.
        std::erase_if(near->second, [&](std::size_t i) {
          if (is_taken[i]) return true;
          const Vec3d other_m = PositionOf(positions_m, i);
          const bool are_low = std::max(point_m[2], other_m[2]) < clusters.support_m + kLowM;
          if (DistanceM(point_m, other_m) > (are_low ? kLowLinkM : kLinkM)) return false;
          is_taken[i] = 1;
          members.push_back(i);
          return true;
        });
      }
    }
    std::sort(members.begin(), members.end());
    clusters.members.push_back(std::move(members));
  }
  return clusters;
}

}  // namespace interlacer
