#pragma once

/// Which points of a cloud belong to the robot, and where its motion takes them.
///
///   positions_m  [n,3] world frame, metres, of one observation
///   poses        [links] world_from_link of the measured joints at that time
/// A point is attached to the link of the nearest surface point if that is no farther than
/// `radius_m`, `finger_radius_m` for a finger and a third of the way between for the rest of a
/// gripper: what it holds touches its fingers and must not become part of them. From links that are
/// no fingers distances along the normal count kAcrossFactor times: surface points lie apart, yet
/// what belongs to the robot lies on its surface. Ties: smaller surface index. Points that are not
/// finite are not attached. Deterministic. Threads: pure functions, which use the kernels' threads.
/// Errors: broken invariants only; the robot must be valid, sizes right.

#include <cstdint>
#include <span>
#include <vector>

#include "robots/robot.h"

namespace interlacer {

inline constexpr double kAcrossFactor = 2;

struct AttachOptions {
  double radius_m = 0.02;
  double finger_radius_m = 0.004;
  bool operator==(const AttachOptions&) const = default;
};

inline constexpr std::int32_t kNotAttached = -1;

/// [n] link of each point, or kNotAttached.
std::vector<std::int32_t> AttachPoints(const Robot& robot, std::span<const Transform> poses,
                                       std::span<const float> positions_m,
                                       const AttachOptions& options = {});

/// Where attached points are once the links have gone from `from` to `to`; the others, and those of
/// links whose pose is the same in every bit, keep their bits.
void CarryPoints(std::span<const std::int32_t> links, std::span<const Transform> from,
                 std::span<const Transform> to, std::span<const float> positions_m,
                 std::span<float> carried_m);

}  // namespace interlacer
