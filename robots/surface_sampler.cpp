#include "robots/surface_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/random.h"
#include "common/vectors.h"

namespace interlacer {
namespace {

/// Enough for points that lie evenly, few enough that selection takes milliseconds.
constexpr int kCandidatesPerPoint = 8;

/// Normal of a triangle, twice its area long.
Vec3d LongNormal(const Triangle& t) {
  const Vec3d u = Minus(t[1], t[0]), v = Minus(t[2], t[0]);
  return {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
}

/// Uniform on the triangle.
SurfacePoint PointOn(const Triangle& t, RandomSequence* random) {
  const double r = std::sqrt(static_cast<double>(random->Uniform()));
  const double s = random->Uniform();
  const double weight[3] = {1 - r, r * (1 - s), r * s};
  const Vec3d n = LongNormal(t);
  const double length = Length(n);
  SurfacePoint point{};
  for (int i = 0; i < 3; ++i) {
    point.position_m[i] =
        static_cast<float>(weight[0] * t[0][i] + weight[1] * t[1][i] + weight[2] * t[2][i]);
    point.normal[i] = static_cast<float>(n[i] / length);
  }
  return point;
}

float SquaredDistance(const Vec3f& a, const Vec3f& b) {
  const float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return x * x + y * y + z * z;
}

}  // namespace

bool SurfaceSampler::Add(const TriangleStream& triangles) {
  double area_m2 = 0;
  triangles([&](const Triangle& t) { area_m2 += Length(LongNormal(t)) / 2; });
  if (!(area_m2 > 0) || !std::isfinite(area_m2)) return false;

  RandomSequence random(seed_, RandomStream::kDataGeneration, link_,
                        static_cast<std::uint32_t>(parts_.size()));
  const int wanted = count_ * kCandidatesPerPoint;
  Part part{area_m2, {}};
  part.candidates.reserve(static_cast<std::size_t>(wanted));
  // One candidate in each of `wanted` equal pieces of the running sum of areas.
  const double piece_m2 = area_m2 / wanted;
  double next_m2 = random.Uniform() * piece_m2;
  double sum_m2 = 0;
  triangles([&](const Triangle& t) {
    const double triangle_m2 = Length(LongNormal(t)) / 2;
    sum_m2 += triangle_m2;
    while (triangle_m2 > 0 && next_m2 < sum_m2 &&
           static_cast<int>(part.candidates.size()) < wanted) {
      part.candidates.push_back(PointOn(t, &random));
      next_m2 = (static_cast<double>(part.candidates.size()) + random.Uniform()) * piece_m2;
    }
  });
  parts_.push_back(std::move(part));
  return true;
}

std::vector<SurfacePoint> SurfaceSampler::MixedCandidates() const {
  double total_m2 = 0;
  for (const Part& part : parts_) total_m2 += part.area_m2;
  std::vector<SurfacePoint> mixed;
  // Part by part its share, evenly out of its candidates; remainders go on to the next part.
  double owed = 0;
  for (const Part& part : parts_) {
    const std::size_t have = part.candidates.size();
    owed += part.area_m2 / total_m2 * count_ * kCandidatesPerPoint;
    const auto take =
        static_cast<std::size_t>(std::clamp(std::lround(owed), 0L, static_cast<long>(have)));
    owed -= static_cast<double>(take);
    for (std::size_t i = 0; i < take; ++i) mixed.push_back(part.candidates[i * have / take]);
  }
  return mixed;
}

std::vector<SurfacePoint> SurfaceSampler::Draw() const {
  const std::vector<SurfacePoint> candidates = MixedCandidates();
  std::vector<SurfacePoint> kept;
  if (candidates.empty()) return kept;
  std::vector<float> sq_distance_m2(candidates.size(), std::numeric_limits<float>::infinity());
  std::size_t newest = 0;
  while (static_cast<int>(kept.size()) < count_ && sq_distance_m2[newest] > 0) {
    kept.push_back(candidates[newest]);
    std::size_t farthest = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      sq_distance_m2[i] = std::min(
          sq_distance_m2[i], SquaredDistance(candidates[i].position_m, kept.back().position_m));
      if (sq_distance_m2[i] > sq_distance_m2[farthest]) farthest = i;
    }
    newest = farthest;
  }
  return kept;
}

}  // namespace interlacer
