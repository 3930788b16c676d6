#pragma once

/// Moving arms, for the tests of kinematic tokens on every device.

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "model/kernels/kinematic_tokens.h"
#include "tests/support/numeric.h"

namespace interlacer::testing {

struct KinematicShape {
  const char* name;
  int arm_count, bodies_per_arm, rings, ring_points;
};

/// No robot, no rings, the fewest bodies, one arm, two; rows of one, two and three times 32
/// numbers.
inline constexpr KinematicShape kKinematicShapes[] = {
    {"NoArm", 0, 10, 2, 3},          {"Bare", 2, 10, 0, 3},   {"ThreeBodies", 2, 3, 1, 1},
    {"ThreeBodiesBare", 1, 3, 0, 1}, {"OneArm", 1, 10, 2, 5}, {"TwoArms", 2, 10, 6, 12}};

struct KinematicTokensProblem {
  std::vector<float> bodies_m, shares, cosines_m, sines_m;
  KinematicTokens tokens;

  explicit KinematicTokensProblem(const KinematicShape& shape, int octaves = 8) {
    constexpr float kRadiusM = 0.075F;
    const int bodies = shape.arm_count * shape.bodies_per_arm;
    const auto places = RandomNormal<float>(3 * bodies, 9, 0);
    const auto motions = RandomNormal<float>(3 * kRobotTimes * bodies, 9, 1);
    for (std::size_t i = 0; i < motions.size(); ++i) {
      bodies_m.push_back(0.3F * places[i % places.size()] + 0.02F * motions[i]);
    }
    for (int ring = 0; ring < shape.rings; ++ring) {
      shares.push_back((static_cast<float>(ring) + 0.5F) / static_cast<float>(shape.rings));
    }
    for (int point = 0; point < shape.ring_points; ++point) {
      const float angle = 2 * std::numbers::pi_v<float> * static_cast<float>(point) /
                          static_cast<float>(shape.ring_points);
      cosines_m.push_back(kRadiusM * std::cos(angle));
      sines_m.push_back(kRadiusM * std::sin(angle));
    }
    tokens = {shape.arm_count,
              shape.bodies_per_arm,
              bodies_m.data(),
              {shape.rings,
               shape.ring_points,
               shares.data(),
               cosines_m.data(),
               sines_m.data(),
               {0.36F, 0.48F, 0.80F},
               1e-6F},
              {0.1F, -0.2F, 0.3F},
              0.75F,
              octaves,
              0.104F,
              4.0F};
  }
};

/// Points, then rows.
struct KinematicNumbers {
  std::vector<float> points_m, rows;
  bool operator==(const KinematicNumbers&) const = default;
};

inline KinematicNumbers KinematicTokensOnHost(const KinematicTokens& tokens,
                                              ParallelForFunction parallel_for) {
  const std::int64_t count = kRobotTimes * KinematicPointCount(tokens);
  KinematicNumbers numbers{Poisoned<float>(3 * count),
                           Poisoned<float>(count * KinematicTokenWidth(tokens))};
  WriteKinematicTokens(tokens, {numbers.points_m.data(), numbers.rows.data()}, parallel_for);
  return numbers;
}

inline bool AllFinite(const std::vector<float>& values) {
  for (const float value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace interlacer::testing
