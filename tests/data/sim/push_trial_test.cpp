#include "data/sim/push_trial.h"

#include <gtest/gtest.h>

#include <cmath>

namespace interlacer::sim {
namespace {

constexpr int kSteps = 10;
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

std::unique_ptr<PushTrial> Make() {
  auto trial = MakePushTrial(Options());
  EXPECT_TRUE(trial.ok()) << trial.status().ToString();
  return trial.ok() ? *std::move(trial) : nullptr;
}

double ApartM(const Vec3d& a, const Vec3d& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(PushTrial, TryingChangesNothingAndIsWhatExecutingBrings) {
  const auto trial = Make();
  const Vec3d start_m = trial->BlockM();
  const auto motions = trial->Propose(6, kSteps, 1);
  ASSERT_EQ(motions.size(), 6u);
  double longest_m = 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < motions.size(); ++i) {
    const Vec3d end_m = trial->Try(motions[i]);
    EXPECT_LE(ApartM(end_m, trial->Try(motions[i])), kSameM) << i;
    EXPECT_EQ(trial->BlockM(), start_m) << i;
    if (ApartM(end_m, start_m) > longest_m) {
      longest_m = ApartM(end_m, start_m);
      best = i;
    }
  }
  EXPECT_GT(longest_m, kFarPushM);
  const Vec3d expected_m = trial->Try(motions[best]);
  trial->Execute(motions[best]);
  EXPECT_LE(ApartM(trial->BlockM(), expected_m), kSameM);
}

TEST(PushTrial, ArmsThatKeepStillMoveNothing) {
  const auto trial = Make();
  const Vec3d start_m = trial->BlockM();
  trial->Execute(trial->Stay(kSteps));
  EXPECT_LE(ApartM(trial->BlockM(), start_m), kUntouchedM);
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

TEST(PushTrial, RefusesOtherTasks) {
  SimulateOptions options = Options();
  options.task = "lift_can";
  const auto trial = MakePushTrial(options);
  ASSERT_FALSE(trial.ok());
  EXPECT_EQ(trial.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace interlacer::sim
