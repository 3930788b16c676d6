#pragma once

/// A float32 gradient against float64: size and direction.

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/numeric.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {

inline void ExpectGradientFollows(const std::vector<float>& got,
                                  const std::vector<double>& expected) {
  EXPECT_LE(RelativeL2(got, expected), kFloatGradientTolerance);
  EXPECT_GE(Cosine(got, expected), kMinGradientCosine);
}

}  // namespace interlacer::testing
