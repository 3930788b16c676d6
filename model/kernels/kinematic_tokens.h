#pragma once

/// The network's inputs for the robot, computed in one pass from its bodies: surface points and
/// their token rows. The fused form of LimbSurface and TokenEncoder, for inference.
///
///   bodies_m [3,arms,bodies of an arm,3] at t-2, t-1, t  ->  points_m [3,q,3] and
///   rows [3 q, 3 + 6 octaves + 3 + arms + bodies of an arm + 5]:
///   p = (x - center) / extent | sin, cos(2^o pi p), o = 0.. | one-hot time | one-hot arm, body |
///   bend angle / pi, gripper opening, displacement_scale (next x - x), 0 at t
/// Points in the order of model/network/limbs.h: arm, segment, ring, point of the ring, or the
/// bodies where there are no rings. A limb along `first_normal` or without length has finite
/// points. NaN stays with the segments and angles of its body. Errors: none; the caller checks
/// sizes. Determinism: points do not mix; equal bits for any thread count. Threads: as
/// grf_attention.h.

#include <cstdint>

#include "common/kernels/parallel_for.h"

namespace interlacer {

inline constexpr int kRobotTimes = 3;

/// Rings of points around the segments between bodies.
struct LimbRings {
  int count = 0;  ///< rings of a segment; 0: the points are the bodies
  int point_count = 0;
  const float* shares = nullptr;  ///< [count] fractions of the segment's length
  /// [point_count] coordinates along the two axes of a ring.
  const float* cosines_m = nullptr;
  const float* sines_m = nullptr;
  float first_normal[3] = {};  ///< direction in which rings of the first time start
  float shortest_m = 0;        ///< shorter segments have no direction
};

struct KinematicTokens {
  int arm_count = 0;
  int bodies_per_arm = 0;           ///< including the gripper base and, last, two finger tips
  const float* bodies_m = nullptr;  ///< [3,arm_count * bodies_per_arm,3]
  LimbRings rings;
  float center_m[3] = {};
  float extent_m = 1;
  int octaves = 0;
  float finger_span_m = 1;
  float displacement_scale = 1;
};

struct KinematicTokenOutputs {
  float* points_m = nullptr;  ///< [3,q,3]
  float* rows = nullptr;      ///< [3 q,KinematicTokenWidth]
};

/// Number of points q.
inline std::int64_t KinematicPointCount(const KinematicTokens& tokens) {
  if (tokens.rings.count == 0) return std::int64_t{tokens.arm_count} * tokens.bodies_per_arm;
  return std::int64_t{tokens.arm_count} * (tokens.bodies_per_arm - 1) * tokens.rings.count *
         tokens.rings.point_count;
}

inline int KinematicTokenWidth(const KinematicTokens& tokens) {
  return 3 + 6 * tokens.octaves + kRobotTimes + tokens.arm_count + tokens.bodies_per_arm + 5;
}

void WriteKinematicTokens(const KinematicTokens& tokens, const KinematicTokenOutputs& out,
                          ParallelForFunction parallel_for);

}  // namespace interlacer
