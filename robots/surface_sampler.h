#pragma once

/// Draws points on the surface of one link.
///
/// Surfaces are given as streams of triangles that can be run twice; nothing of them is kept but a
/// few thousand candidates each, drawn by area and stratified along the stream. Of all candidates,
/// surfaces weighing by their area, `count` are kept by farthest-point selection, in its order: any
/// first k lie evenly. Equal inputs give equal points. Thread-safety: one thread an object.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/geometry.h"

namespace interlacer {

using Triangle = std::array<Vec3d, 3>;
using TriangleSink = std::function<void(const Triangle&)>;
/// Gives every triangle to the sink, the same ones each time.
using TriangleStream = std::function<void(const TriangleSink&)>;

struct SurfacePoint {
  Vec3f position_m;
  Vec3f normal;
};

class SurfaceSampler {
 public:
  SurfaceSampler(int count, std::uint64_t seed, std::uint32_t link)
      : count_(count), seed_(seed), link_(link) {}

  /// False when the triangles have no area (or one that is not finite).
  bool Add(const TriangleStream& triangles);

  /// At most `count` points, none if nothing was added.
  std::vector<SurfacePoint> Draw() const;

 private:
  struct Part {
    double area_m2;
    std::vector<SurfacePoint> candidates;
  };
  std::vector<SurfacePoint> MixedCandidates() const;

  const int count_;
  const std::uint64_t seed_;
  const std::uint32_t link_;
  std::vector<Part> parts_;
};

}  // namespace interlacer
