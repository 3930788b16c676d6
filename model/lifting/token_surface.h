#pragma once

/// The points of a robot's surface that are tokens, where its links are.
///
/// A robot with more than `most` points gives every link a share of them by its number of points
/// (largest remainders; ties: the lower link), and of each link the first ones, which lie evenly
/// over it. Deterministic. The robot must be valid. Pure functions, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "common/geometry.h"
#include "robots/robot.h"

namespace interlacer {

/// Points of the robot's surface, in its order; all of them if there are no more than `most`.
SurfacePoints ThinnedSurface(const Robot& robot, std::size_t most);

struct TokenSurface {
  std::int64_t point_count = 0;
  std::vector<float> points_m;    ///< [times,p,3] world frame, metres
  std::vector<float> normals;     ///< [times,p,3] unit
  std::vector<float> is_gripper;  ///< [p] 1 on grippers and fingers, else 0
};

/// At most kMaxSurfaceTokens points at the times of `link_poses` [times][links].
TokenSurface PoseTokenSurface(const Robot& robot,
                              std::span<const std::vector<Transform>> link_poses);

}  // namespace interlacer
