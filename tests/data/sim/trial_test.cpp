#include "data/sim/trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/must.h"

namespace interlacer::sim {
namespace {

constexpr int kSteps = 10, kLiftSteps = 12;
constexpr double kLiftedM = 0.05;
constexpr double kSlipM = 0.005;  // of a can that is held through a second of rest
constexpr double kOnM = 0.3;      // a motion that carries on ends nearer than this
constexpr double kSameM = 1e-9;
constexpr double kUntouchedM = 1e-4;  // travel of a block that nobody touches
constexpr double kFarPushM = 0.03;

SimulateOptions Options() {
  SimulateOptions options;
  options.split = Split::kTest;
  options.seed = 45000;
  options.width_px = options.height_px = 64;
  return options;
}

std::unique_ptr<Trial> Make(const char* task = "push_block") {
  SimulateOptions options = Options();
  options.task = task;
  return Must(MakeTrial(options));
}

double ApartM(const Vec3d& a, const Vec3d& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(PushTrial, TryingChangesNothingAndIsWhatExecutingBrings) {
  const auto trial = Make();
  const Vec3d start_m = trial->ObjectM();
  const auto motions = trial->Propose(6, kSteps, 1);
  ASSERT_EQ(motions.size(), 6u);
  double longest_m = 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < motions.size(); ++i) {
    const Vec3d end_m = trial->Try(motions[i]);
    EXPECT_LE(ApartM(end_m, trial->Try(motions[i])), kSameM) << i;
    EXPECT_EQ(trial->ObjectM(), start_m) << i;
    if (ApartM(end_m, start_m) > longest_m) {
      longest_m = ApartM(end_m, start_m);
      best = i;
    }
  }
  EXPECT_GT(longest_m, kFarPushM);
  const Vec3d expected_m = trial->Try(motions[best]);
  trial->Execute(motions[best]);
  EXPECT_LE(ApartM(trial->ObjectM(), expected_m), kSameM);
}

TEST(PushTrial, ArmsThatKeepStillMoveNothing) {
  const auto trial = Make();
  const Vec3d start_m = trial->ObjectM();
  trial->Execute(trial->Stay(kSteps));
  EXPECT_LE(ApartM(trial->ObjectM(), start_m), kUntouchedM);
  EXPECT_FALSE(trial->ArmCollided());
}

TEST(PushTrial, ProposalsGoOnFromWhereTheArmsAre) {
  const auto trial = Make();
  trial->Execute(trial->Propose(1, kSteps, 2).front());
  const SceneInput seen = trial->Observe();
  const auto& measured = seen.history_actions.values;
  for (const TrialMotion& motion : trial->Propose(4, kSteps, 3)) {
    double largest_rad = 0;
    for (std::size_t c = 0; c < motion.rows.front().size(); ++c) {
      const double now = measured[measured.size() - motion.rows.front().size() + c];
      largest_rad = std::max(largest_rad, std::abs(motion.rows.front()[c] - now));
    }
    EXPECT_LT(largest_rad, 1.0);  // a step of 12 cm and 0.7 rad
  }
}

TEST(PushTrial, ProposalsDependOnTheSeedAlone) {
  const auto trial = Make(), again = Make();
  const auto one = trial->Propose(3, kSteps, 4), same = again->Propose(3, kSteps, 4);
  const auto other = trial->Propose(3, kSteps, 5);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].rows, same[i].rows);
  EXPECT_NE(one.front().rows, other.front().rows);
}

TEST(PushTrial, ShowsTwoStepsToAModel) {
  const SceneInput seen = Make()->Observe();
  ASSERT_EQ(seen.observations.size(), 2u);
  ASSERT_EQ(seen.observations.back().views.size(), 2u);
  EXPECT_EQ(seen.observations.back().views.front().camera_name, "left");
  EXPECT_EQ(seen.observations.back().views.front().depth.width_px, 64);
  EXPECT_EQ(seen.history_actions.row_count, 2);
  EXPECT_EQ(seen.history_actions.column_count, 16);
  EXPECT_EQ(seen.observations.back().views.front().capture_time_ns -
                seen.observations.front().views.front().capture_time_ns,
            500000000);
  EXPECT_NE(seen.robot, nullptr);
}

/// Some grasps hold and lift, others miss: that is what a planner has to tell apart.
TEST(LiftTrial, GraspsHoldOrMissAndTryingIsWhatExecutingBrings) {
  const auto trial = Make("lift_can");
  const Vec3d start_m = trial->ObjectM();
  const auto motions = trial->Propose(16, kLiftSteps, 1);
  ASSERT_EQ(motions.size(), 16u);
  int lifted = 0;
  std::size_t highest = 0;
  std::vector<Vec3d> ends_m;
  for (const TrialMotion& motion : motions) {
    ends_m.push_back(trial->Try(motion));
    EXPECT_EQ(trial->ObjectM(), start_m);
    lifted += ends_m.back()[2] > start_m[2] + kLiftedM ? 1 : 0;
    if (ends_m.back()[2] > ends_m[highest][2]) highest = ends_m.size() - 1;
  }
  EXPECT_GT(lifted, 0);
  EXPECT_LT(lifted, 16);
  trial->Execute(motions[highest]);
  EXPECT_LE(ApartM(trial->ObjectM(), ends_m[highest]), kSameM);
  // It is still held after a rest, and motions now carry on as well as grasp anew.
  trial->Execute(trial->Stay(2));
  EXPECT_NEAR(trial->ObjectM()[2], ends_m[highest][2], kSlipM);
  int held = 0;
  const auto next = trial->Propose(16, kLiftSteps, 2);
  for (const TrialMotion& motion : next) {
    held += trial->Try(motion)[2] > start_m[2] + kLiftedM ? 1 : 0;
  }
  EXPECT_GT(held, 0);
  EXPECT_TRUE(std::any_of(next.begin(), next.end(), [&](const TrialMotion& motion) {
    return motion.tools[0].opening_m == motions[highest].tools[0].opening_m &&
           motion.tools[1].opening_m == motions[highest].tools[1].opening_m &&
           ApartM(motion.tools[0].position_m, motions[highest].tools[0].position_m) +
                   ApartM(motion.tools[1].position_m, motions[highest].tools[1].position_m) <
               kOnM;
  }));
}

TEST(LiftTrial, ThePartsOfACanAreWithinItsCylinder) {
  const auto trial = Make("lift_can");
  const Vec3d at_m = trial->ObjectM();
  EXPECT_TRUE(trial->IsOfObject(at_m));
  EXPECT_TRUE(trial->IsOfObject({at_m[0] + 0.02, at_m[1], at_m[2] + 0.04}));
  EXPECT_FALSE(trial->IsOfObject({at_m[0] + 0.045, at_m[1], at_m[2]}));
  EXPECT_FALSE(trial->IsOfObject({at_m[0], at_m[1], at_m[2] + 0.07}));
  EXPECT_FALSE(trial->CanBring({0.6, 0.6, 0.2}));
}

/// Nothing that it does depends on where the can stands.
TEST(LiftTrial, TheBlindGraspKnowsTheGoalAlone) {
  const Vec3d goal_m = {-0.05, 0.05, 0.2};
  const auto trial = Make("lift_can");
  const auto blind = Must(trial->Blind(goal_m, kLiftSteps));
  double nearest_m = 1;
  for (const auto& tool : blind.tools) {
    nearest_m = std::min(nearest_m, ApartM(tool.position_m, goal_m));
  }
  EXPECT_LE(nearest_m, kSameM);
}

TEST(Trial, RefusesOtherTasks) {
  SimulateOptions options = Options();
  options.task = "sweep";
  EXPECT_EQ(MakeTrial(options).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace interlacer::sim
