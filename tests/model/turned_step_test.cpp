/// Steps seen from other sides, beside rotations written out.

#include "model/engine/turned_step.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "common/transforms.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr Box kLongBox{{0.1, -1.2, -0.05}, {0.7, 0.8, 0.95}};

StepInput MakeInput() {
  StepInput input;
  input.older = {at::randn({7, 3}), at::randn({7, 4})};
  input.newer = {at::randn({5, 3}), at::randn({5, 4})};
  input.kinematic_points_m = at::randn({kKinematicTimes, 2, 3});
  input.workspace = kLongBox;
  input.surface.normals = at::randn({kKinematicTimes, 2, 3});
  input.surface.is_gripper = at::ones({2});
  input.surface.older_motion = at::randn({7, 4});
  input.surface.newer_motion = at::randn({5, 4});
  return input;
}

/// Point by point.
torch::Tensor TurnedSlowly(const torch::Tensor& rows, int quarter_turns, const Vec3d& center) {
  const Transform turn{{}, YawQuaternion(quarter_turns * std::numbers::pi / 2)};
  torch::Tensor out = rows.clone();
  auto from = rows.reshape({-1, 3});
  auto to = out.view({-1, 3});
  for (std::int64_t i = 0; i < from.size(0); ++i) {
    Vec3d p{};
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      p[static_cast<std::size_t>(axis)] =
          from[i][axis].item<double>() - center[static_cast<std::size_t>(axis)];
    }
    const Vec3d q = Apply(turn, p);
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      to[i][axis] = q[static_cast<std::size_t>(axis)] + center[static_cast<std::size_t>(axis)];
    }
  }
  return out;
}

void ExpectClose(const torch::Tensor& a, const torch::Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_LE((a - b).abs().max().item<double>(), kFloatSumTolerance);
}

TEST(TurnedStep, EverythingInTheWorldTurnsAndFeaturesStay) {
  const StepInput input = MakeInput();
  const Vec3d center = BoxCenter(kLongBox);
  for (int turns = 0; turns < kQuarterTurns; ++turns) {
    const StepInput turned = Turned(input, turns);
    ExpectClose(turned.older.positions_m, TurnedSlowly(input.older.positions_m, turns, center));
    ExpectClose(turned.newer.positions_m, TurnedSlowly(input.newer.positions_m, turns, center));
    ExpectClose(turned.kinematic_points_m, TurnedSlowly(input.kinematic_points_m, turns, center));
    ExpectClose(turned.surface.normals, TurnedSlowly(input.surface.normals, turns, {}));
    const torch::Tensor& motion = input.surface.newer_motion;
    ExpectClose(turned.surface.newer_motion.slice(1, 1),
                TurnedSlowly(motion.slice(1, 1).contiguous(), turns, {}));
    EXPECT_TRUE(at::equal(turned.surface.newer_motion.select(1, 0), motion.select(1, 0)));
    EXPECT_TRUE(at::equal(turned.newer.features, input.newer.features));
    EXPECT_TRUE(at::equal(turned.surface.is_gripper, input.surface.is_gripper));
  }
}

TEST(TurnedStep, TheBoxKeepsItsCenterAndExchangesItsSides) {
  const Box once = Turned(MakeInput(), 1).workspace, twice = Turned(MakeInput(), 2).workspace;
  EXPECT_EQ(twice, kLongBox);
  const Box expected{{-0.6, -0.5, -0.05}, {1.4, 0.1, 0.95}};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(once.min_m[axis], expected.min_m[axis], kFloatSumTolerance);
    EXPECT_NEAR(once.max_m[axis], expected.max_m[axis], kFloatSumTolerance);
  }
}

TEST(TurnedStep, TurningBackIsTheWayBack) {
  const StepInput input = MakeInput();
  for (int turns = 0; turns < kQuarterTurns; ++turns) {
    const CloudTensors back = TurnedBack(Turned(input, turns).newer, input.workspace, turns);
    ExpectClose(back.positions_m, input.newer.positions_m);
    EXPECT_TRUE(at::equal(back.features, input.newer.features));
  }
}

TEST(TurnedStep, ASceneWithoutARobotHasNothingElseToTurn) {
  StepInput input = MakeInput();
  input.kinematic_points_m = input.surface.normals = at::zeros({kKinematicTimes, 0, 3});
  const StepInput turned = Turned(input, 1);
  EXPECT_EQ(turned.kinematic_points_m.sizes(), input.kinematic_points_m.sizes());
  EXPECT_EQ(turned.surface.normals.sizes(), input.surface.normals.sizes());
}

}  // namespace
}  // namespace interlacer::testing
