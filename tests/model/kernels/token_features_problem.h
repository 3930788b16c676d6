#pragma once

/// Tokens for the tests of token features on every device.

#include <cstdint>
#include <vector>

#include "model/kernels/token_features.h"
#include "tests/support/numeric.h"

namespace interlacer::testing {

struct TokenFeaturesProblem {
  std::vector<float> positions_m, features;
  TokenFeatures tokens;

  TokenFeaturesProblem(std::int64_t n, int feature_width, int octaves)
      : positions_m(RandomNormal<float>(3 * n, 7, 0)),
        features(RandomNormal<float>(feature_width * n, 7, 1)),
        tokens{n,
               positions_m.data(),
               features.data(),
               feature_width,
               {0.1F, -0.2F, 0.3F},
               0.75F,
               octaves,
               1,
               2} {}
};

}  // namespace interlacer::testing
