#include "robots/attachment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

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

/// Surface points by cells as wide as the largest radius, so that a search looks at 27 cells.
class SurfaceIndex {
 public:
  SurfaceIndex(const std::vector<Vec3d>& positions_m, double cell_m)
      : positions_m_(positions_m), cell_m_(cell_m) {
    for (std::uint32_t i = 0; i < positions_m.size(); ++i) {
      cells_[CellOf(positions_m[i])].push_back(i);
    }
  }

  /// The nearest surface point of which `accepts(index, squared distance)` holds, or nothing.
  template <typename Accepts>
  std::int64_t Nearest(const Vec3d& point_m, Accepts accepts) const {
    const Cell home = CellOf(point_m);
    std::int64_t best = -1;
    double best_sq_m2 = 0;
    for (std::int32_t neighbor = 0; neighbor < 27; ++neighbor) {
      const auto found = cells_.find(
          {home[0] + neighbor % 3 - 1, home[1] + neighbor / 3 % 3 - 1, home[2] + neighbor / 9 - 1});
      if (found == cells_.end()) continue;
      for (const std::uint32_t i : found->second) {
        double sq_m2 = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double d = positions_m_[i][axis] - point_m[axis];
          sq_m2 += d * d;
        }
        const bool is_nearer = best < 0 || sq_m2 < best_sq_m2 ||
                               (sq_m2 == best_sq_m2 && static_cast<std::int64_t>(i) < best);
        if (!is_nearer || !accepts(i, sq_m2)) continue;
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

  const std::vector<Vec3d>& positions_m_;
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
  const SurfaceIndex index(surface.positions_m,
                           std::max(options.radius_m, options.finger_radius_m));
  std::vector<double> reach_sq_m2;
  for (const RobotLink& link : robot.links) {
    const double reach_m =
        link.part == LinkPart::kFinger ? options.finger_radius_m : options.radius_m;
    reach_sq_m2.push_back(reach_m * reach_m);
  }
  const auto link_of = [&](std::size_t surface_point) {
    return static_cast<std::size_t>(robot.surface.links[surface_point]);
  };
  std::vector<std::int32_t> links(positions_m.size() / 3, kNotAttached);
  ParallelFor(
      static_cast<std::int64_t>(links.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          const float* p = positions_m.data() + 3 * i;
          if (!IsNear(p)) continue;
          const std::int64_t nearest =
              index.Nearest({p[0], p[1], p[2]}, [&](std::uint32_t candidate, double sq_m2) {
                return sq_m2 <= reach_sq_m2[link_of(candidate)];
              });
          if (nearest >= 0) {
            links[i] = static_cast<std::int32_t>(link_of(static_cast<std::size_t>(nearest)));
          }
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
