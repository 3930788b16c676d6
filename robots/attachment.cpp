#include "robots/attachment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "common/check.h"
#include "common/thread_pool.h"
#include "common/transforms.h"
#include "robots/forward_kinematics.h"

namespace interlacer {
namespace {

constexpr std::int64_t kGrain = 4096;

using Cell = std::array<std::int32_t, 3>;

struct CellHash {
  std::size_t operator()(const Cell& cell) const {
    std::uint64_t hash = 0;
    for (const std::int32_t c : cell) {
      hash = (hash ^ static_cast<std::uint32_t>(c)) * 0x9E3779B97F4A7C15ull;
    }
    return static_cast<std::size_t>(hash ^ (hash >> 32));
  }
};

/// How far a link takes points, and how much more than once distance across its surface counts.
struct Reach {
  double sq_m2;
  double more_across;
};

Reach ReachOf(LinkPart part, const AttachOptions& options) {
  if (part == LinkPart::kFinger) return {options.finger_radius_m * options.finger_radius_m, 0};
  const double radius_m = part == LinkPart::kGripper
                              ? (options.radius_m + 2 * options.finger_radius_m) / 3
                              : options.radius_m;
  return {radius_m * radius_m, kAcrossFactor * kAcrossFactor - 1};
}

/// Surface points by cells as wide as the largest radius, so that a search looks at 27 cells.
class SurfaceIndex {
 public:
  /// `reaches` has one of every surface point.
  SurfaceIndex(const PosedSurface& surface, std::vector<Reach> reaches, double cell_m)
      : surface_(surface), reaches_(std::move(reaches)), cell_m_(cell_m) {
    for (std::uint32_t i = 0; i < surface.positions_m.size(); ++i) {
      cells_[CellOf(surface.positions_m[i])].push_back(i);
    }
  }

  /// The nearest surface point that takes the point, or -1.
  std::int64_t Nearest(const Vec3d& point_m) const {
    const Cell home = CellOf(point_m);
    std::int64_t best = -1;
    double best_sq_m2 = 0;
    for (std::int32_t neighbor = 0; neighbor < 27; ++neighbor) {
      const auto found = cells_.find(
          {home[0] + neighbor % 3 - 1, home[1] + neighbor / 3 % 3 - 1, home[2] + neighbor / 9 - 1});
      if (found == cells_.end()) continue;
      for (const std::uint32_t i : found->second) {
        double sq_m2 = 0, across_m = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double d = surface_.positions_m[i][axis] - point_m[axis];
          sq_m2 += d * d;
          across_m += d * surface_.normals[i][axis];
        }
        sq_m2 += reaches_[i].more_across * across_m * across_m;
        const bool is_nearer = best < 0 || sq_m2 < best_sq_m2 ||
                               (sq_m2 == best_sq_m2 && static_cast<std::int64_t>(i) < best);
        if (!is_nearer || sq_m2 > reaches_[i].sq_m2) continue;
        best = i;
        best_sq_m2 = sq_m2;
      }
    }
    return best;
  }

 private:
  Cell CellOf(const Vec3d& point_m) const {
    Cell cell;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      cell[axis] = static_cast<std::int32_t>(std::floor(point_m[axis] / cell_m_));
    }
    return cell;
  }

  const PosedSurface& surface_;
  const std::vector<Reach> reaches_;
  const double cell_m_;
  std::unordered_map<Cell, std::vector<std::uint32_t>, CellHash> cells_;
};

/// Beyond this no robot stands, and cells would overflow.
constexpr float kFarM = 1e4f;

bool IsNear(const float* p) {
  return std::abs(p[0]) < kFarM && std::abs(p[1]) < kFarM && std::abs(p[2]) < kFarM;
}

}  // namespace

std::vector<std::int32_t> AttachPoints(const Robot& robot, std::span<const Transform> poses,
                                       std::span<const float> positions_m,
                                       const AttachOptions& options) {
  INTERLACER_CHECK(positions_m.size() % 3 == 0 && poses.size() == robot.links.size(),
                   "sizes of an attachment");
  const PosedSurface surface = PoseSurface(robot, poses);
  std::vector<Reach> reaches;
  for (const std::int64_t link : robot.surface.links) {
    reaches.push_back(ReachOf(robot.links[static_cast<std::size_t>(link)].part, options));
  }
  const SurfaceIndex index(surface, std::move(reaches),
                           std::max(options.radius_m, options.finger_radius_m));
  std::vector<std::int32_t> links(positions_m.size() / 3, kNotAttached);
  ParallelFor(
      static_cast<std::int64_t>(links.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          const float* p = positions_m.data() + 3 * i;
          if (!IsNear(p)) continue;
          const std::int64_t nearest = index.Nearest({p[0], p[1], p[2]});
          if (nearest < 0) continue;
          links[i] =
              static_cast<std::int32_t>(robot.surface.links[static_cast<std::size_t>(nearest)]);
        }
      });
  return links;
}

void CarryPoints(std::span<const std::int32_t> links, std::span<const Transform> from,
                 std::span<const Transform> to, std::span<const float> positions_m,
                 std::span<float> carried_m) {
  INTERLACER_CHECK(positions_m.size() == 3 * links.size() &&
                       carried_m.size() == positions_m.size() && from.size() == to.size(),
                   "sizes of carried points");
  std::vector<Matrix4d> motions;
  std::vector<char> has_moved;
  for (std::size_t link = 0; link < from.size(); ++link) {
    has_moved.push_back(from[link] != to[link]);
    motions.push_back(ToMatrix(Compose(to[link], Inverse(from[link]))));
  }
  std::copy(positions_m.begin(), positions_m.end(), carried_m.begin());
  ParallelFor(
      static_cast<std::int64_t>(links.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          if (links[i] == kNotAttached) continue;
          const auto link = static_cast<std::size_t>(links[i]);
          if (!has_moved[link]) continue;
          const Matrix4d& m = motions[link];
          const float* p = positions_m.data() + 3 * i;
          for (std::size_t row = 0; row < 3; ++row) {
            carried_m[3 * i + row] = static_cast<float>(m[4 * row] * p[0] + m[4 * row + 1] * p[1] +
                                                        m[4 * row + 2] * p[2] + m[4 * row + 3]);
          }
        }
      });
}

}  // namespace interlacer
