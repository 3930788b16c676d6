#pragma once

/// Small random scenes for the renderer's tests: a cloud, a field, rays through it.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/random.h"
#include "render/renderer.h"
#include "tests/support/numeric.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {

struct RandomField {
  std::vector<float> w1, b1, w2, b2, w3, b3;

  FieldWeights weights() const { return {w1, b1, w2, b2, w3, b3}; }
  FieldGradients gradients() { return {w1, b1, w2, b2, w3, b3}; }
  bool operator==(const RandomField&) const = default;
};

inline std::vector<float> RandomNormals(std::size_t count, double scale, RandomSequence& random) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(scale * random.Normal());
  return values;
}

/// Weights of unit gain, so that every part of the field matters; dense enough to hide what is
/// behind.
inline RandomField MakeRandomField(const RendererConfig& config, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kWeightInit);
  const std::size_t in = FieldInputWidth(config), hidden = config.hidden_width;
  RandomField field;
  field.w1 = RandomNormals(hidden * in, std::sqrt(2.0 / in), random);
  field.b1 = RandomNormals(hidden, 0.1, random);
  field.w2 = RandomNormals(hidden * hidden, std::sqrt(2.0 / hidden), random);
  field.b2 = RandomNormals(hidden, 0.1, random);
  field.w3 = RandomNormals(kFieldOutputWidth * hidden, std::sqrt(1.0 / hidden), random);
  field.b3 = {3.f, 0.f, 0.2f, -0.2f};
  return field;
}

inline RandomField MakeZeroField(const RendererConfig& config) {
  const std::size_t in = FieldInputWidth(config), hidden = config.hidden_width;
  RandomField field;
  field.w1.assign(hidden * in, 0.f);
  field.b1.assign(hidden, 0.f);
  field.w2.assign(hidden * hidden, 0.f);
  field.b2.assign(hidden, 0.f);
  field.w3.assign(kFieldOutputWidth * hidden, 0.f);
  field.b3.assign(kFieldOutputWidth, 0.f);
  return field;
}

struct Cloud {
  std::vector<float> positions_m, features;
};

/// n particles: most on a wavy sheet around z = 0, |x|,|y| < half_side_m, every fourth in the space
/// up to 0.3 m above it.
inline Cloud MakeRandomCloud(int n, int feature_width, std::uint64_t seed,
                             double half_side_m = 0.4) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  Cloud cloud;
  for (int i = 0; i < n; ++i) {
    const double x = random.Uniform(-half_side_m, half_side_m);
    const double y = random.Uniform(-half_side_m, half_side_m);
    const double z =
        i % 4 == 3 ? random.Uniform(0.0, 0.3) : 0.03 * std::sin(9 * x) * std::cos(8 * y);
    for (const double value : {x, y, z}) cloud.positions_m.push_back(static_cast<float>(value));
  }
  cloud.features = RandomNormals(static_cast<std::size_t>(n) * feature_width, 1.0, random);
  return cloud;
}

struct Rays {
  std::vector<float> origins_m, directions, jitter;

  std::size_t count() const { return origins_m.size() / 3; }
  RayBatch batch() const { return {origins_m, directions, jitter}; }
};

/// Rays from about (0.9, 0, 0.7) towards points around the origin, jittered samples.
inline Rays MakeRandomRays(int count, int samples_per_ray, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kRays);
  Rays rays;
  for (int r = 0; r < count; ++r) {
    const double origin[3] = {random.Uniform(0.85, 0.95), random.Uniform(-0.1, 0.1),
                              random.Uniform(0.6, 0.8)};
    double direction[3], length = 0;
    for (int axis = 0; axis < 3; ++axis) {
      direction[axis] = random.Uniform(-0.4, 0.4) * (axis == 2 ? 0.4 : 1.0) - origin[axis];
      length += direction[axis] * direction[axis];
    }
    for (int axis = 0; axis < 3; ++axis) {
      rays.origins_m.push_back(static_cast<float>(origin[axis]));
      rays.directions.push_back(static_cast<float>(direction[axis] / std::sqrt(length)));
    }
  }
  for (int i = 0; i < count * samples_per_ray; ++i) rays.jitter.push_back(random.Uniform());
  return rays;
}

/// Outputs, poisoned first.
struct Picture {
  explicit Picture(std::size_t ray_count)
      : rgb(3 * ray_count, kPoison), distance_m(ray_count, kPoison), opacity(ray_count, kPoison) {}
  RayOutputs outputs() { return {rgb, distance_m, opacity}; }
  bool operator==(const Picture&) const = default;

  static constexpr float kPoison = -777.f;
  std::vector<float> rgb, distance_m, opacity;
};

inline double MaxDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::fabs(double{a[i]} - b[i]);
    worst = difference <= worst ? worst : difference;  // NaN counts as worst
  }
  return worst;
}

inline void ExpectClose(const Picture& got, const Picture& expected,
                        double tolerance = kPictureTolerance) {
  EXPECT_LE(MaxDifference(got.rgb, expected.rgb), tolerance);
  EXPECT_LE(MaxDifference(got.distance_m, expected.distance_m), tolerance);
  EXPECT_LE(MaxDifference(got.opacity, expected.opacity), tolerance);
}

}  // namespace interlacer::testing
