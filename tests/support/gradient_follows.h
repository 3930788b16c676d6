#pragma once

/// Compares a float32 gradient with a reference, usually in float64: size and direction.

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/numeric.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {

template <typename T>
void ExpectGradientFollows(const std::vector<float>& got, const std::vector<T>& expected) {
  EXPECT_LE(RelativeL2(got, expected), kFloatGradientTolerance);
  EXPECT_GE(Cosine(got, expected), kMinGradientCosine);
}

}  // namespace interlacer::testing
