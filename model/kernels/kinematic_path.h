#pragma once

/// The position, bend and attributes of one robot point at three times: arithmetic shared by the
/// CPU and CUDA forms of model/kernels/kinematic_tokens.h, which alone include it. Pure functions.
/// A path takes a few roots and an arc tangent a time, over a few bodies; a row takes six sines and
/// cosines for each octave. What bounds the forms stands at their kernels.

#include <cmath>
#include <cstdint>

#include "common/kernels/host_device.h"
#include "model/kernels/kinematic_tokens.h"

namespace interlacer {

struct KinematicVector {
  float x, y, z;
  INTERLACER_HOST_DEVICE float at(int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};

INTERLACER_HOST_DEVICE inline KinematicVector operator+(KinematicVector a, KinematicVector b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
INTERLACER_HOST_DEVICE inline KinematicVector operator-(KinematicVector a, KinematicVector b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
INTERLACER_HOST_DEVICE inline KinematicVector operator*(float s, KinematicVector a) {
  return {s * a.x, s * a.y, s * a.z};
}
INTERLACER_HOST_DEVICE inline float Dot(KinematicVector a, KinematicVector b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
INTERLACER_HOST_DEVICE inline KinematicVector Cross(KinematicVector a, KinematicVector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
INTERLACER_HOST_DEVICE inline float Length(KinematicVector a) { return ::sqrtf(Dot(a, a)); }

INTERLACER_HOST_DEVICE inline KinematicVector Unit(KinematicVector a, float shortest_m) {
  const float squared = Dot(a, a), least = shortest_m * shortest_m;
  const float length = ::sqrtf(squared < least ? least : squared);
  return {a.x / length, a.y / length, a.z / length};
}

/// sin and cos of pi x. The CPU form rounds the angle first, as the tensor form does.
INTERLACER_HOST_DEVICE inline float SinOfHalfTurns(float x) {
#if defined(__CUDA_ARCH__)
  return sinpif(x);
#else
  return ::sinf(3.14159265F * x);
#endif
}
INTERLACER_HOST_DEVICE inline float CosOfHalfTurns(float x) {
#if defined(__CUDA_ARCH__)
  return cospif(x);
#else
  return ::cosf(3.14159265F * x);
#endif
}

/// A point's course over the three times; `body` of `arm` is where its segment begins, or the point
/// itself.
struct KinematicPath {
  int arm, body;
  KinematicVector point_m[kRobotTimes];
  float bend[kRobotTimes];     ///< in units of pi
  float opening[kRobotTimes];  ///< of the gripper, in [0,1]; 0 for other bodies
};

INTERLACER_HOST_DEVICE inline KinematicVector BodyAt(const KinematicTokens& tokens, int time,
                                                     int arm, int body) {
  const float* const at =
      tokens.bodies_m + 3 * ((time * tokens.arm_count + arm) * tokens.bodies_per_arm + body);
  return {at[0], at[1], at[2]};
}

/// Angle between the segments before and after a body of the chain; 0 at both ends of the chain
/// (the first body and the gripper) and at the fingers.
INTERLACER_HOST_DEVICE inline float BendOf(const KinematicTokens& tokens, int time, int arm,
                                           int body) {
  const int gripper = tokens.bodies_per_arm - 3;
  if (body < 1 || body >= gripper) return 0;
  const KinematicVector here = BodyAt(tokens, time, arm, body);
  const KinematicVector in = here - BodyAt(tokens, time, arm, body - 1);
  const KinematicVector out = BodyAt(tokens, time, arm, body + 1) - here;
  return ::atan2f(Length(Cross(in, out)), Dot(in, out)) / 3.14159265F;
}

INTERLACER_HOST_DEVICE inline float OpeningOf(const KinematicTokens& tokens, int time, int arm,
                                              int body) {
  const int gripper = tokens.bodies_per_arm - 3;
  if (body < gripper) return 0;
  const float share =
      Length(BodyAt(tokens, time, arm, gripper + 1) - BodyAt(tokens, time, arm, gripper + 2)) /
      tokens.finger_span_m;
  return share > 1 ? 1 : share;
}

/// Position of a point of a ring. `normal` is the direction in which the ring of the previous time
/// started; it is updated to that of this time.
INTERLACER_HOST_DEVICE inline KinematicVector RingPoint(const LimbRings& rings, int ring, int point,
                                                        KinematicVector from, KinematicVector to,
                                                        KinematicVector& normal) {
  const KinematicVector along = to - from;
  const KinematicVector axis = Unit(along, rings.shortest_m);
  normal = Unit(normal - Dot(normal, axis) * axis, rings.shortest_m);
  const KinematicVector spoke =
      rings.cosines_m[point] * normal + rings.sines_m[point] * Cross(axis, normal);
  return (from + rings.shares[ring] * along) + spoke;
}

/// The path of point `index` of KinematicPointCount.
INTERLACER_HOST_DEVICE inline KinematicPath KinematicPathOf(const KinematicTokens& tokens,
                                                            int index) {
  const LimbRings& rings = tokens.rings;
  const bool bare = rings.count == 0;
  const int of_segment = bare ? 1 : rings.count * rings.point_count;
  const int of_arm = bare ? tokens.bodies_per_arm : tokens.bodies_per_arm - 1;
  const int segment = index / of_segment % of_arm;
  const int gripper = tokens.bodies_per_arm - 3;
  KinematicPath path;
  path.arm = index / of_segment / of_arm;
  // Both fingers branch off the gripper.
  path.body = bare || segment < gripper ? segment : gripper;
  KinematicVector normal = {rings.first_normal[0], rings.first_normal[1], rings.first_normal[2]};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int time = 0; time < kRobotTimes; ++time) {
    const KinematicVector from = BodyAt(tokens, time, path.arm, path.body);
    path.point_m[time] =
        bare ? from
             : RingPoint(rings, index % of_segment / rings.point_count, index % rings.point_count,
                         from, BodyAt(tokens, time, path.arm, segment + 1), normal);
    path.bend[time] = BendOf(tokens, time, path.arm, path.body);
    path.opening[time] = OpeningOf(tokens, time, path.arm, path.body);
  }
  return path;
}

/// Column `column` of the point's row at `time`.
INTERLACER_HOST_DEVICE inline float KinematicColumn(const KinematicTokens& tokens,
                                                    const KinematicPath& path, int time,
                                                    int column) {
  const KinematicVector& point_m = path.point_m[time];
  if (column < 3 + 6 * tokens.octaves) {
    const int axis = column % 3;
    const float p = (point_m.at(axis) - tokens.center_m[axis]) / tokens.extent_m;
    if (column < 3) return p;
    const float x = static_cast<float>(std::int64_t{1} << (column - 3) / 6) * p;
    return (column - 3) % 6 < 3 ? SinOfHalfTurns(x) : CosOfHalfTurns(x);
  }
  column -= 3 + 6 * tokens.octaves;
  if (column < kRobotTimes) return column == time ? 1 : 0;
  column -= kRobotTimes;
  if (column < tokens.arm_count) return column == path.arm ? 1 : 0;
  column -= tokens.arm_count;
  if (column < tokens.bodies_per_arm) return column == path.body ? 1 : 0;
  column -= tokens.bodies_per_arm;
  if (column == 0) return path.bend[time];
  if (column == 1) return path.opening[time];
  if (time + 1 == kRobotTimes) return 0;
  const int axis = column - 2;
  return tokens.displacement_scale * (path.point_m[time + 1].at(axis) - point_m.at(axis));
}

}  // namespace interlacer
