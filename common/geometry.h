#pragma once

/// Plain geometric values: vectors, unit quaternions, rigid transforms, boxes.
///
/// Right-handed frames, metres. `a_from_b` maps coordinates of b to a: p_a = R p_b + t.
/// Quaternions are x, y, z, w. The operations live in common/transforms.h. Thread-safety: values.

#include <array>

namespace interlacer {

using Vec3d = std::array<double, 3>;
using Vec3f = std::array<float, 3>;
/// Row-major 4x4 homogeneous matrix.
using Matrix4d = std::array<double, 16>;

struct Transform {
  Vec3d translation_m{0, 0, 0};
  std::array<double, 4> rotation_xyzw{0, 0, 0, 1};
  bool operator==(const Transform&) const = default;
};

/// Axis-aligned box; min below max on every axis.
struct Box {
  Vec3d min_m{0, 0, 0};
  Vec3d max_m{0, 0, 0};
  bool operator==(const Box&) const = default;
};

}  // namespace interlacer
