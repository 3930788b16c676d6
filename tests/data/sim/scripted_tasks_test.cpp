/// What happens in an episode of each task that grasps or holds something.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "common/transforms.h"
#include "data/sim/simulator.h"
#include "data/sim/task_geometry.h"
#include "data/sim/tools.h"

namespace interlacer::sim {
namespace {

constexpr double kStandsM = 0.004;  // resting height against the half height
constexpr double kLiftedM = 0.10;
constexpr double kTaskRestM = 1e-3;  // travel of things that nobody touches
constexpr double kSlipM = 0.02;      // of a held can against its gripper
constexpr double kSunkM = 0.003;     // of anything into the table
constexpr double kUpright = 0.99;
constexpr double kLies = 0.2;       // uprightness
constexpr double kClosesM = 0.005;  // fingers, in one step
constexpr double kBoardM = 0.035;   // the thickest board that a can may come to rest on
constexpr int kStepCount = 24;

SimulatedEpisode Simulate(const std::string& task, std::uint64_t seed, bool still = false) {
  SimulateOptions options;
  options.task = task;
  options.seed = seed;
  options.still = still;
  options.step_count = kStepCount;
  options.width_px = 16;
  options.height_px = 16;
  StatusOr<SimulatedEpisode> episode = SimulateEpisode(options);
  EXPECT_TRUE(episode.ok()) << episode.status().ToString();
  return episode.ok() ? *std::move(episode) : SimulatedEpisode{};
}

/// Height of the can's middle when it stands: that of the first step.
double StandingHeight(const SimulatedEpisode& episode) {
  return episode.steps.front().world_from_object.front().translation_m[2];
}

class ScriptedTasksTest : public ::testing::TestWithParam<int> {};

TEST_P(ScriptedTasksTest, LiftedCanIsHeldAndStandsElsewhereAtTheEnd) {
  const SimulatedEpisode episode = Simulate("lift_can", GetParam());
  ASSERT_EQ(episode.steps.size(), static_cast<std::size_t>(kStepCount));
  const double standing_m = StandingHeight(episode);
  double highest_m = 0;
  for (const SimulatedStep& step : episode.steps) {
    const Transform& can = step.world_from_object.front();
    EXPECT_GT(Uprightness(can), kUpright);
    EXPECT_GT(can.translation_m[2], standing_m - kSunkM);
    const double above_m = can.translation_m[2] - standing_m;
    highest_m = std::max(highest_m, above_m);
    // A can in the air is between the fingers of an arm.
    const std::size_t object_count = episode.object_names.size();
    const bool is_held =
        step.arm_touches_object[0] != 0 || step.arm_touches_object[object_count] != 0;
    EXPECT_TRUE(is_held || above_m < kStandsM);
  }
  EXPECT_GT(highest_m, kLiftedM);
  const Vec3d& from_m = episode.steps.front().world_from_object.front().translation_m;
  const Vec3d& to_m = episode.steps.back().world_from_object.front().translation_m;
  EXPECT_NEAR(to_m[2], standing_m, kStandsM);
  EXPECT_GT(DistanceM(from_m, to_m), 0.1 - kSlipM);
}

TEST_P(ScriptedTasksTest, DroppedCanFallsAndComesToRest) {
  const SimulatedEpisode episode = Simulate("drop_can", GetParam());
  ASSERT_EQ(episode.steps.size(), static_cast<std::size_t>(kStepCount));
  const double standing_m = StandingHeight(episode);
  double highest_m = 0;
  double fell_m = 0;
  for (std::size_t s = 1; s < episode.steps.size(); ++s) {
    const double z_m = episode.steps[s].world_from_object.front().translation_m[2];
    const double before_m = episode.steps[s - 1].world_from_object.front().translation_m[2];
    highest_m = std::max(highest_m, z_m - standing_m);
    fell_m = std::max(fell_m, before_m - z_m);
  }
  EXPECT_GT(highest_m, kLiftedM);
  EXPECT_GT(fell_m, kLiftedM / 2);  // within one step
  const Transform& last = episode.steps.back().world_from_object.front();
  const Transform& before = episode.steps[kStepCount - 2].world_from_object.front();
  EXPECT_LT(DistanceM(last.translation_m, before.translation_m), 0.005);
  EXPECT_LT(last.translation_m[2], standing_m + kBoardM);
  EXPECT_TRUE(WithinTheTable(last));
}

TEST_P(ScriptedTasksTest, SweptLitterEndsInThePan) {
  const SimulatedEpisode episode = Simulate("sweep", GetParam());
  ASSERT_EQ(episode.steps.size(), static_cast<std::size_t>(kStepCount));
  ASSERT_EQ(episode.object_names[0], "dustpan");
  ASSERT_EQ(episode.object_names[1], "brush");
  int litter_count = 0;
  int in_pan_count = 0;
  for (std::size_t o = 2; o < episode.object_names.size(); ++o) {
    if (!episode.object_names[o].starts_with("litter")) continue;
    ++litter_count;
    const auto in_pan = [&](const SimulatedStep& step) {
      const Vec3d local_m =
          Apply(Inverse(step.world_from_object[0]), step.world_from_object[o].translation_m);
      return local_m[0] > kPanBackM && local_m[0] < kPanMouthM &&
             std::abs(local_m[1]) < kPanHalfWidthM && std::abs(local_m[2]) < kToolGripHeightM;
    };
    EXPECT_FALSE(in_pan(episode.steps.front()));
    in_pan_count += in_pan(episode.steps.back()) ? 1 : 0;
    for (const SimulatedStep& step : episode.steps) {
      EXPECT_GT(step.world_from_object[o].translation_m[2], 0);
    }
  }
  EXPECT_GE(litter_count, 3);
  EXPECT_GE(in_pan_count, 2);
  EXPECT_GE(in_pan_count, 0.66 * litter_count);
  // The pan is lifted with what it holds.
  EXPECT_GT(episode.steps.back().world_from_object[0].translation_m[2],
            kToolGripHeightM + kStandsM);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ScriptedTasksTest, ::testing::Values(1, 2),
                         ::testing::PrintToStringParamName());

/// What comes of the grasps at a can.
struct GraspCounts {
  int held = 0, missed = 0, thrown_over = 0, lay_at_first = 0;
};

GraspCounts CountGrasps(const SimulatedEpisode& episode) {
  constexpr std::size_t kAfterSteps = 3;
  GraspCounts counts;
  const auto can = [&](std::size_t s) { return episode.steps[s].world_from_object.front(); };
  const bool stood = Uprightness(can(0)) > kUpright;
  counts.lay_at_first = stood ? 0 : 1;
  counts.thrown_over = stood && Uprightness(can(episode.steps.size() - 1)) < kLies ? 1 : 0;
  for (std::size_t s = 1; s + kAfterSteps < episode.steps.size(); ++s) {
    for (int arm = 0; arm < 2; ++arm) {
      const int gripper = arm * kArmColumns + kJointCount;
      const auto opening_m = [&](std::size_t at) { return episode.steps[at].commanded[gripper]; };
      if (opening_m(s) > opening_m(s - 1) - kClosesM) continue;
      const Vec3d before_m = can(s - 1).translation_m, after_m = can(s + kAfterSteps).translation_m;
      counts.held += after_m[2] - before_m[2] > kLiftedM ? 1 : 0;
      counts.missed += DistanceM(before_m, after_m) < kTaskRestM ? 1 : 0;
    }
  }
  return counts;
}

TEST(GraspCanTest, SomeGraspsHoldSomeMissAndSomeThrowOver) {
  GraspCounts all;
  for (std::uint64_t seed = 30000; seed < 30012; ++seed) {
    const SimulatedEpisode episode = Simulate("grasp_can", seed);
    ASSERT_EQ(episode.steps.size(), static_cast<std::size_t>(kStepCount));
    for (const SimulatedStep& step : episode.steps) {
      EXPECT_TRUE(WithinTheTable(step.world_from_object.front()));
    }
    const GraspCounts counts = CountGrasps(episode);
    all.held += counts.held;
    all.missed += counts.missed;
    all.thrown_over += counts.thrown_over;
    all.lay_at_first += counts.lay_at_first;
  }
  EXPECT_GE(all.held, 3);
  EXPECT_GE(all.missed, 3);
  EXPECT_GE(all.thrown_over, 1);
  EXPECT_GE(all.lay_at_first, 1);
}

TEST(StillTasksTest, NothingMovesByItself) {
  for (const std::string& task : TaskNames()) {
    for (const std::uint64_t seed : {4, 5, 6}) {
      SCOPED_TRACE(task + " " + std::to_string(seed));
      const SimulatedEpisode still = Simulate(task, seed, true);
      const SimulatedStep& first = still.steps.front();
      for (const SimulatedStep& step : still.steps) {
        EXPECT_EQ(step.commanded, first.commanded);
        for (std::size_t o = 0; o < first.world_from_object.size(); ++o) {
          EXPECT_LT(DistanceM(first.world_from_object[o].translation_m,
                              step.world_from_object[o].translation_m),
                    kTaskRestM)
              << still.object_names[o];
        }
      }
    }
  }
}

TEST(TaskDrawsTest, SameSeedSameBytes) {
  for (const std::string& task : TaskNames()) {
    SimulateOptions options;
    options.task = task;
    options.seed = 6;
    options.step_count = 2;
    options.width_px = options.height_px = 16;
    const StatusOr<SimulatedEpisode> once = SimulateEpisode(options);
    const StatusOr<SimulatedEpisode> again = SimulateEpisode(options);
    ASSERT_TRUE(once.ok() && again.ok()) << once.status().ToString();
    EXPECT_EQ(once->mjcf, again->mjcf);
    EXPECT_EQ(once->steps.back().measured, again->steps.back().measured);
    EXPECT_EQ(once->steps.back().views.back().color.pixels,
              again->steps.back().views.back().color.pixels);
  }
}

}  // namespace
}  // namespace interlacer::sim
