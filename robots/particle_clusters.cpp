#include "robots/particle_clusters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "common/check.h"
#include "common/transforms.h"
#include "robots/attachment.h"
#include "robots/nearest_point.h"

namespace interlacer {
namespace {

constexpr double kSupportBandM = 0.01;
constexpr double kAboveSupportM = 0.008;
/// What is lower joins a cluster this near if it is higher than the noise of the support.
constexpr double kFootReachM = 0.025, kLeastFootM = 0.0005, kFootOfDeviations = 4;
constexpr double kLinkM = 0.04;
constexpr double kLowM = 0.03, kLowLinkM = 0.012;

struct Support {
  double height_m = 0, deviation_m = 0;  ///< mean, and mean distance from it
};

/// Of the fullest band of kSupportBandM.
Support SupportOf(std::vector<double> heights_m) {
  std::sort(heights_m.begin(), heights_m.end());
  std::size_t best = 0, best_count = 0;
  for (std::size_t first = 0, end = 0; first < heights_m.size(); ++first) {
    while (end < heights_m.size() && heights_m[end] <= heights_m[first] + kSupportBandM) ++end;
    if (end - first <= best_count) continue;
    best = first;
    best_count = end - first;
  }
  if (best_count == 0) return {};
  const std::span<const double> band_m(&heights_m[best], best_count);
  Support support;
  for (const double height_m : band_m) support.height_m += height_m;
  support.height_m /= static_cast<double>(best_count);
  for (const double height_m : band_m) {
    support.deviation_m += std::abs(height_m - support.height_m);
  }
  support.deviation_m /= static_cast<double>(best_count);
  return support;
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

/// Particles that are too low to make clusters join the nearest one, kept in order.
void AddFeet(const Support& support, std::span<const float> positions_m,
             std::span<const std::int32_t> links, std::vector<std::vector<std::size_t>>* clusters) {
  std::vector<float> members_m;
  std::vector<std::size_t> of_members;
  for (std::size_t k = 0; k < clusters->size(); ++k) {
    for (const std::size_t i : (*clusters)[k]) {
      members_m.insert(members_m.end(), &positions_m[3 * i], &positions_m[3 * i] + 3);
      of_members.push_back(k);
    }
  }
  if (of_members.empty()) return;
  const NearestPoint nearest(members_m);
  const double foot_m = std::max(kLeastFootM, kFootOfDeviations * support.deviation_m);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Vec3d point_m = PositionOf(positions_m, i);
    const double above_m = point_m[2] - support.height_m;
    if (links[i] != kNotAttached || above_m <= foot_m || above_m > kAboveSupportM) continue;
    const NearestPoint::Found found = nearest.NearestTo(point_m, kFootReachM);
    if (found.distance_m < kFootReachM) (*clusters)[of_members[found.index]].push_back(i);
  }
  for (std::vector<std::size_t>& members : *clusters) std::sort(members.begin(), members.end());
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
  const Support support = SupportOf(std::move(heights_m));
  clusters.support_m = support.height_m;
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
    clusters.members.push_back(std::move(members));
  }
  AddFeet(support, positions_m, links, &clusters.members);
  return clusters;
}

}  // namespace interlacer
