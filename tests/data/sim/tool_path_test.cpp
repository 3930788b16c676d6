#include "data/sim/tool_path.h"

#include <gtest/gtest.h>

#include "tests/support/tolerances.h"

namespace interlacer::sim {
namespace {

TEST(ToolPathTest, LegsAreEvenAndNotFasterThanAsked) {
  ToolPath path({{0, 0, 0}, 0, 0});
  path.MoveTo({{0.25, 0, 0}, 0.3, 0.02}, 0.1);
  Vec3d last{};
  int count = 0;
  while (!path.Done()) {
    const ToolTarget next = path.Pop();
    EXPECT_NEAR(next.position_m[0] - last[0], 0.25 / 3, testing::kDoubleSumTolerance);
    last = next.position_m;
    ++count;
  }
  EXPECT_EQ(count, 3);
  EXPECT_NEAR(last[0], 0.25, testing::kDoubleSumTolerance);
}

TEST(ToolPathTest, ALargeTurnTakesSeveralSteps) {
  ToolPath path({{0, 0, 0}, -1.5, 0});
  path.MoveTo({{0.01, 0, 0}, 1.5, 0}, 0.1);
  int count = 0;
  while (!path.Done()) {
    path.Pop();
    ++count;
  }
  EXPECT_GE(count, 4);
}

TEST(ToolPathTest, RestartForgetsWhatWasToCome) {
  ToolPath path({{0, 0, 0}, 0, 0});
  path.MoveTo({{1, 0, 0}, 0, 0}, 0.1);
  path.Restart({{0.5, 0, 0}, 0, 0});
  EXPECT_TRUE(path.Done());
  EXPECT_EQ(path.end().position_m[0], 0.5);
}

}  // namespace
}  // namespace interlacer::sim
