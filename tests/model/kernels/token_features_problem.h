#pragma once

/// Tokens around a robot's points, for the tests of token features on every device.

#include <cstdint>
#include <vector>

#include "model/kernels/token_features.h"
#include "tests/support/numeric.h"

namespace interlacer::testing {

struct TokenFeaturesProblem {
  std::vector<float> positions_m, features, points_m, next_points_m;
  std::vector<float> bandwidths_m{0.05F, 0.1F, 0.2F};
  TokenFeatures tokens;

  TokenFeaturesProblem(std::int64_t n, int feature_width, int octaves, int point_count)
      : positions_m(RandomNormal<float>(3 * n, 7, 0)),
        features(RandomNormal<float>(feature_width * n, 7, 1)),
        points_m(RandomNormal<float>(3 * point_count, 7, 2)),
        next_points_m(RandomNormal<float>(3 * point_count, 7, 3)) {
    for (std::size_t i = 0; i < points_m.size() && i < positions_m.size(); ++i) {
      points_m[i] = positions_m[i] + 0.05F * points_m[i];  // so that weights are not all zero
    }
    tokens = {n,
              positions_m.data(),
              features.data(),
              feature_width,
              {0.1F, -0.2F, 0.3F},
              0.75F,
              octaves,
              1,
              2,
              {}};
    tokens.robot = {point_count,
                    points_m.data(),
                    next_points_m.data(),
                    3,
                    bandwidths_m.data(),
                    4.0F,
                    0.1F,
                    1e-6F,
                    0.1F};
  }
};

}  // namespace interlacer::testing
