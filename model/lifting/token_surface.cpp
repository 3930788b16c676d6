#include "model/lifting/token_surface.h"

#include <algorithm>
#include <numeric>

#include "model/config.h"
#include "robots/forward_kinematics.h"

namespace interlacer {
namespace {

/// Points of each link among the `most`.
std::vector<std::size_t> SharesOfLinks(const std::vector<std::size_t>& counts, std::size_t most) {
  const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::vector<std::size_t> shares, links(counts.size());
  for (const std::size_t count : counts) shares.push_back(most * count / total);
  std::iota(links.begin(), links.end(), std::size_t{0});
  std::stable_sort(links.begin(), links.end(), [&](std::size_t a, std::size_t b) {
    return most * counts[a] % total > most * counts[b] % total;
  });
  const std::size_t given = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
  for (std::size_t i = 0; i < most - given; ++i) ++shares[links[i]];
  return shares;
}

void Append(const std::vector<Vec3d>& vectors, std::vector<float>* out) {
  for (const Vec3d& v : vectors) {
    for (const double x : v) out->push_back(static_cast<float>(x));
  }
}

}  // namespace

SurfacePoints ThinnedSurface(const Robot& robot, std::size_t most) {
  const SurfacePoints& all = robot.surface;
  if (all.size() <= most) return all;
  std::vector<std::size_t> counts(robot.links.size());
  for (const std::int64_t link : all.links) ++counts[static_cast<std::size_t>(link)];
  std::vector<std::size_t> left = SharesOfLinks(counts, most);
  SurfacePoints thinned;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t& of_link = left[static_cast<std::size_t>(all.links[i])];
    if (of_link == 0) continue;
    --of_link;
    thinned.positions_m.push_back(all.positions_m[i]);
    thinned.normals.push_back(all.normals[i]);
    thinned.links.push_back(all.links[i]);
  }
  return thinned;
}

TokenSurface PoseTokenSurface(const Robot& robot,
                              std::span<const std::vector<Transform>> link_poses) {
  Robot thinned = robot;
  thinned.surface = ThinnedSurface(robot, kMaxSurfaceTokens);
  TokenSurface surface;
  surface.point_count = static_cast<std::int64_t>(thinned.surface.size());
  for (const std::int64_t link : thinned.surface.links) {
    const bool is_body = robot.links[static_cast<std::size_t>(link)].part == LinkPart::kBody;
    surface.is_gripper.push_back(is_body ? 0.f : 1.f);
  }
  for (const std::vector<Transform>& poses : link_poses) {
    const PosedSurface posed = PoseSurface(thinned, poses);
    Append(posed.positions_m, &surface.points_m);
    Append(posed.normals, &surface.normals);
  }
  return surface;
}

}  // namespace interlacer
