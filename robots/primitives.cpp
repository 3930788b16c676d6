#include "robots/primitives.h"

#include <cmath>
#include <numbers>

#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr int kAround = 64;
constexpr int kAlong = 32;

/// Rings of radius and height from the top down, closed to a surface of revolution around z, then
/// scaled along the axes.
struct Ring {
  double radius;
  double z;
};

TriangleStream Revolution(std::vector<Ring> rings, const Vec3d& scale) {
  return [rings = std::move(rings), scale](const TriangleSink& sink) {
    const auto corner = [&](const Ring& ring, int i) {
      const double angle = 2 * std::numbers::pi * (i % kAround) / kAround;
      return Vec3d{scale[0] * ring.radius * std::cos(angle),
                   scale[1] * ring.radius * std::sin(angle), scale[2] * ring.z};
    };
    for (std::size_t r = 0; r + 1 < rings.size(); ++r) {
      for (int i = 0; i < kAround; ++i) {
        const Vec3d a = corner(rings[r], i), b = corner(rings[r], i + 1);
        const Vec3d c = corner(rings[r + 1], i), d = corner(rings[r + 1], i + 1);
        if (rings[r].radius > 0) sink({a, c, b});
        if (rings[r + 1].radius > 0) sink({b, c, d});
      }
    }
  };
}

/// A ball's rings between two angles from the top, moved along z.
void AddArc(double from_rad, double to_rad, int pieces, double radius, double z,
            std::vector<Ring>* rings) {
  for (int i = 0; i <= pieces; ++i) {
    const double angle = from_rad + (to_rad - from_rad) * i / pieces;
    // Exactly 0 at the poles, where a ring is a point.
    const bool is_pole = angle == 0 || angle == std::numbers::pi;
    rings->push_back({is_pole ? 0 : radius * std::sin(angle), z + radius * std::cos(angle)});
  }
}

}  // namespace

TriangleStream BoxSurface(const Vec3d& half_sides_m) {
  return [half = half_sides_m](const TriangleSink& sink) {
    for (int axis = 0; axis < 3; ++axis) {
      const int u = (axis + 1) % 3, v = (axis + 2) % 3;
      for (const double side : {-1.0, 1.0}) {
        const auto corner = [&](double a, double b) {
          Vec3d p{};
          p[axis] = side * half[axis];
          p[u] = a * half[u];
          p[v] = side * b * half[v];
          return p;
        };
        sink({corner(-1, -1), corner(1, -1), corner(1, 1)});
        sink({corner(-1, -1), corner(1, 1), corner(-1, 1)});
      }
    }
  };
}

TriangleStream CylinderSurface(double radius_m, double half_length_m) {
  const double r = radius_m, h = half_length_m;
  return Revolution({{0, h}, {r, h}, {r, -h}, {0, -h}}, {1, 1, 1});
}

TriangleStream CapsuleSurface(double radius_m, double half_length_m) {
  std::vector<Ring> rings;
  const double quarter = std::numbers::pi / 2;
  AddArc(0, quarter, kAlong / 2, radius_m, half_length_m, &rings);
  AddArc(quarter, 2 * quarter, kAlong / 2, radius_m, -half_length_m, &rings);
  return Revolution(std::move(rings), {1, 1, 1});
}

TriangleStream EllipsoidSurface(const Vec3d& radii_m) {
  std::vector<Ring> rings;
  AddArc(0, std::numbers::pi, kAlong, 1, 0, &rings);
  return Revolution(std::move(rings), radii_m);
}

TriangleStream Moved(TriangleStream triangles, const Transform& link_from_shape,
                     const Vec3d& scale) {
  const Matrix4d m = ToMatrix(link_from_shape);
  const bool is_mirrored = scale[0] * scale[1] * scale[2] < 0;
  return [triangles = std::move(triangles), m, scale, is_mirrored](const TriangleSink& sink) {
    triangles([&](const Triangle& triangle) {
      Triangle moved;
      for (int k = 0; k < 3; ++k) {
        const Vec3d& p = triangle[k];
        for (int i = 0; i < 3; ++i) {
          moved[k][i] = m[4 * i] * scale[0] * p[0] + m[4 * i + 1] * scale[1] * p[1] +
                        m[4 * i + 2] * scale[2] * p[2] + m[4 * i + 3];
        }
      }
      if (is_mirrored) std::swap(moved[1], moved[2]);
      sink(moved);
    });
  };
}

}  // namespace interlacer
