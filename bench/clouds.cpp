#include "bench/clouds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "common/random.h"
#include "knn/spatial_order.h"

namespace interlacer::bench {
namespace {

constexpr double kDepthNoiseM = 0.001;
constexpr double kMoveM = 0.02;
constexpr double kTableHalfSideM = 0.75;
constexpr double kSpatialCellM = 0.01;

using Point = std::array<double, 3>;

struct Ball {
  Point center_m;
  double radius_m;
};

std::vector<Ball> ThingsOnTheTable(int time) {
  return {{{0.10 + time * kMoveM, 0.05, 0.06}, 0.06},
          {{-0.15, 0.20, 0.05}, 0.05},
          {{0.05, -0.25, 0.08}, 0.08},
          {{-0.30, -0.10, 0.12}, 0.12},
          {{0.35, 0.30, 0.04}, 0.04}};
}

/// Distance along a unit direction to the nearest surface; infinite for rays that miss the table.
double CastRay(const Point& origin_m, const Point& direction, const std::vector<Ball>& balls) {
  double nearest_m = -origin_m[2] / direction[2];
  for (int axis = 0; axis < 2; ++axis) {
    const double place_m = origin_m[axis] + nearest_m * direction[axis];
    if (!(nearest_m > 0) || std::fabs(place_m) > kTableHalfSideM) nearest_m = INFINITY;
  }
  for (const Ball& ball : balls) {
    double along = 0, sq_dist_m2 = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double offset = ball.center_m[axis] - origin_m[axis];
      along += offset * direction[axis];
      sq_dist_m2 += offset * offset;
    }
    const double half_chord = ball.radius_m * ball.radius_m - (sq_dist_m2 - along * along);
    if (half_chord > 0) nearest_m = std::min(nearest_m, along - std::sqrt(half_chord));
  }
  return nearest_m;
}

Point Normalized(const Point& v) {
  const double length = std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  return {v[0] / length, v[1] / length, v[2] / length};
}

Point Cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Adds the points of `n` pixels of two cameras, chosen without replacement.
void AddTableView(std::int64_t n, int time, RandomSequence& random, std::vector<float>& cloud) {
  const std::vector<Ball> balls = ThingsOnTheTable(time);
  // Twice the required number of pixels, because some see nothing.
  const auto height = static_cast<std::int64_t>(
      std::max(240.0, std::ceil(std::sqrt(2.0 * static_cast<double>(n) * 3 / 4))));
  const std::int64_t width = height * 4 / 3;
  std::vector<std::int64_t> pixels(2 * width * height);
  std::iota(pixels.begin(), pixels.end(), 0);
  std::int64_t found = 0;
  for (std::size_t i = 0; i < pixels.size() && found < n; ++i) {
    std::swap(pixels[i], pixels[i + random.Below(static_cast<std::uint32_t>(pixels.size() - i))]);
    const Point& eye_m = kEyesM[pixels[i] / (width * height)];
    const std::int64_t pixel = pixels[i] % (width * height);
    const Point forward = Normalized({-eye_m[0], -eye_m[1], -eye_m[2]});
    const Point right = Normalized(Cross(forward, {0, 0, 1}));
    const Point down = Cross(forward, right);
    const double u = (static_cast<double>(pixel % width) / static_cast<double>(width) - 0.5) * 1.1;
    const double v =
        (static_cast<double>(pixel / width) / static_cast<double>(height) - 0.5) * 0.825;
    Point direction;
    for (int axis = 0; axis < 3; ++axis) {
      direction[axis] = forward[axis] + u * right[axis] + v * down[axis];
    }
    direction = Normalized(direction);
    const double distance_m = CastRay(eye_m, direction, balls) + kDepthNoiseM * random.Normal();
    if (!std::isfinite(distance_m)) continue;
    for (int axis = 0; axis < 3; ++axis) {
      cloud.push_back(static_cast<float>(eye_m[axis] + distance_m * direction[axis]));
    }
    ++found;
  }
}

}  // namespace

std::vector<float> MakeCloud(const Options& options) {
  RandomSequence random(options.seed, RandomStream::kDataGeneration);
  std::vector<float> cloud;
  cloud.reserve(3 * options.tokens());
  if (options.cloud == "cube") {
    for (std::int64_t i = 0; i < 3 * options.tokens(); ++i) {
      cloud.push_back(static_cast<float>(random.Uniform(-0.5, 0.5)));
    }
    return cloud;
  }
  for (int time = 0; time < options.timesteps; ++time) {
    AddTableView(options.n, time, random, cloud);
  }
  return cloud;
}

std::vector<float> RandomValues(std::size_t count, std::uint64_t seed, std::uint32_t draw,
                                double low, double high) {
  RandomSequence random(seed, RandomStream::kRandomFeatures, draw);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Uniform(low, high));
  return values;
}

std::vector<float> InSpatialOrder(const std::vector<float>& positions_m) {
  std::vector<float> ordered;
  ordered.reserve(positions_m.size());
  const auto order = MortonOrder(positions_m, kSpatialCellM);
  for (const std::int32_t i : order.value()) {
    ordered.insert(ordered.end(), positions_m.begin() + 3 * i, positions_m.begin() + 3 * i + 3);
  }
  return ordered;
}

}  // namespace interlacer::bench
