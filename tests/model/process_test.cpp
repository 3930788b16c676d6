/// What a program that links the model has before its first line runs.

#include <gtest/gtest.h>

#include <cstdlib>

namespace interlacer {
namespace {

/// Spinning OpenMP threads would take the cores from the kernels' threads.
TEST(ProcessTest, OpenMpWaitsPassivelyUnlessTheUserSaysOtherwise) {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  ASSERT_NE(policy, nullptr);
  EXPECT_STRNE(policy, "");
}

}  // namespace
}  // namespace interlacer
