/// Against tensors it is compared in tests/model/network/tokens_test.cpp.

#include "model/kernels/kinematic_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/thread_pool.h"
#include "tests/model/kernels/kinematic_tokens_problem.h"
#include "tests/support/serial_for.h"

namespace interlacer::testing {
namespace {

class KinematicTokensTest : public ::testing::TestWithParam<KinematicShape> {};
INSTANTIATE_TEST_SUITE_P(Robots, KinematicTokensTest, ::testing::ValuesIn(kKinematicShapes),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(KinematicTokensTest, WritesEveryNumberAlikeForAnyThreadCount) {
  const KinematicTokensProblem problem(GetParam());
  const KinematicNumbers numbers = KinematicTokensOnHost(problem.tokens, &ParallelFor);
  EXPECT_TRUE(AllFinite(numbers.points_m));
  EXPECT_TRUE(AllFinite(numbers.rows));
  EXPECT_EQ(numbers, KinematicTokensOnHost(problem.tokens, &SerialFor));
}

TEST_P(KinematicTokensTest, BodiesInOnePlaceAreFinite) {
  KinematicTokensProblem problem(GetParam());
  std::fill(problem.bodies_m.begin(), problem.bodies_m.end(), 0.25F);
  const KinematicNumbers numbers = KinematicTokensOnHost(problem.tokens, &SerialFor);
  EXPECT_TRUE(AllFinite(numbers.points_m));
  EXPECT_TRUE(AllFinite(numbers.rows));
}

}  // namespace
}  // namespace interlacer::testing
