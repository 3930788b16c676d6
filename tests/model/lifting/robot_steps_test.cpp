/// What each step is told of the robot, against tables by hand: a point on a plate that turns by a
/// quarter about (0.2, 0) in every step, and one on a plate that slides along x.

#include "model/lifting/robot_steps.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <memory>
#include <numbers>
#include <vector>

#include "model/network/tokens.h"
#include "robots/attachment.h"
#include "robots/forward_kinematics.h"
#include "tests/model/plane_robot.h"

namespace interlacer::testing {
namespace {

using Rows = std::vector<std::vector<float>>;

constexpr std::int32_t kTurning = 1, kSliding = 2;
constexpr int kLastStep = 3;
constexpr double kTolerance = 1e-6;
const Box kBox{{-1, -1, -1}, {1, 1, 1}};

/// Where the point 5 cm from the middle of the turning plate and the one at y = 3 cm of the sliding
/// plate are, from time 0 (t-2) to time 4 (step 3).
const Rows kTurningPoint = {
    {0.25f, 0, 0}, {0.2f, 0.05f, 0}, {0.15f, 0, 0}, {0.2f, -0.05f, 0}, {0.25f, 0, 0}};
const Rows kSlidingPoint = {
    {-0.2f, 0.03f, 0}, {-0.1f, 0.03f, 0}, {0.1f, 0.03f, 0}, {0.4f, 0.03f, 0}, {0.8f, 0.03f, 0}};
/// The normal of the turning plate's point lies in its plane.
const Rows kTurningNormal = {{1, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {0, -1, 0}, {1, 0, 0}};

/// The sliding plate is a gripper's.
Robot PlatesOfOnePoint() {
  Robot robot = TwoPlates();
  robot.links[kSliding].part = LinkPart::kGripper;
  robot.surface = {{{0.05f, 0, 0}, {0, 0.03f, 0}}, {{1, 0, 0}, {0, 0, 1}}, {kTurning, kSliding}};
  return robot;
}

KinematicRows RowsOf(const Robot& robot) {
  KinematicRows rows;
  for (const double slide_m : {0.0, 0.1, 0.3, 0.6, 1.0}) {
    const double turn_rad = 0.5 * std::numbers::pi * static_cast<double>(rows.row_count++);
    rows.joints.push_back({turn_rad, slide_m});
    rows.link_poses.push_back(LinkPoses(robot, rows.joints.back()));
  }
  return rows;
}

torch::Tensor Tensor(const Rows& rows) {
  std::vector<float> values;
  for (const std::vector<float>& row : rows) values.insert(values.end(), row.begin(), row.end());
  return at::tensor(values).reshape({std::ssize(rows), -1});
}

CloudTensors Cloud(const Rows& positions_m, float feature) {
  return {Tensor(positions_m), at::full({std::ssize(positions_m), 2}, feature)};
}

void ExpectRows(const torch::Tensor& got, const Rows& expected, const char* what, int step) {
  const torch::Tensor rows = got.reshape({-1, got.size(-1)});
  const torch::Tensor table = Tensor(expected);
  ASSERT_EQ(rows.sizes(), table.sizes()) << what << " of step " << step;
  EXPECT_LE((rows - table).abs().max().item<double>(), kTolerance)
      << what << " of step " << step << ":\n"
      << rows << "\nexpected:\n"
      << table;
}

/// Both points at the three times of a step.
Rows Window(const Rows& turning, const Rows& sliding, int step) {
  Rows window;
  for (int time = step - 1; time <= step + 1; ++time) {
    window.push_back(turning[time]);
    window.push_back(sliding[time]);
  }
  return window;
}

/// Of the particles of another cloud in another order: free, sliding, turning.
class RobotStepsTest : public ::testing::Test {
 protected:
  RobotSteps Steps(bool moves_exactly) const {
    return {&robot_, RowsOf(robot_), moves_exactly, {older_, older_links_}, {newer_, newer_links_}};
  }
  StepInput InputOf(const RobotSteps& steps, int step) const {
    return steps.InputOf(step, step == 1 ? older_ : newer_, newer_, {}, kBox);
  }

  const Robot robot_ = PlatesOfOnePoint();
  const CloudTensors older_ = Cloud({kTurningPoint[0], {0.5f, 0.5f, 0}, kSlidingPoint[0]}, 1);
  const std::vector<std::int32_t> older_links_ = {kTurning, kNotAttached, kSliding};
  const CloudTensors newer_ = Cloud({{0.5f, 0.5f, 0}, kSlidingPoint[1], kTurningPoint[1]}, 2);
  const std::vector<std::int32_t> newer_links_ = {kNotAttached, kSliding, kTurning};
};

TEST_F(RobotStepsTest, SeeTheSurfaceBeforeAtAndAfterTheNewestTime) {
  for (const bool moves_exactly : {false, true}) {
    const RobotSteps steps = Steps(moves_exactly);
    const Rows up(kTurningNormal.size(), {0, 0, 1});
    for (int step = 1; step <= kLastStep; ++step) {
      const StepInput input = InputOf(steps, step);
      EXPECT_EQ(input.kinematic_points_m.sizes(), (std::vector<std::int64_t>{3, 2, 3}));
      ExpectRows(input.kinematic_points_m, Window(kTurningPoint, kSlidingPoint, step), "points",
                 step);
      ExpectRows(input.surface.normals, Window(kTurningNormal, up, step), "normals", step);
      ExpectRows(input.surface.is_gripper, {{0, 1}}, "grippers", step);
    }
  }
}

TEST_F(RobotStepsTest, SayHowAttachedParticlesMoveToTheNextTime) {
  const RobotSteps steps = Steps(/*moves_exactly=*/true);
  const std::vector<float> free(4, 0.f);
  // Of the newer cloud from time 1 to 2, 2 to 3 and 3 to 4.
  const std::vector<Rows> newer = {{free, {1, 0.2f, 0, 0}, {1, -0.05f, -0.05f, 0}},
                                   {free, {1, 0.3f, 0, 0}, {1, 0.05f, -0.05f, 0}},
                                   {free, {1, 0.4f, 0, 0}, {1, 0.05f, 0.05f, 0}}};
  // The first step's older cloud has links of its own, and goes from time 0 to 1.
  const std::vector<Rows> older = {
      {{1, -0.05f, 0.05f, 0}, free, {1, 0.1f, 0, 0}}, newer[0], newer[1]};
  for (int step = 1; step <= kLastStep; ++step) {
    const StepInput input = InputOf(steps, step);
    ExpectRows(input.surface.older_motion, older[step - 1], "older motion", step);
    ExpectRows(input.surface.newer_motion, newer[step - 1], "newer motion", step);
  }
}

TEST_F(RobotStepsTest, PutAttachedParticlesWhereTheStepTakesThem) {
  const RobotSteps steps = Steps(/*moves_exactly=*/true);
  const CloudTensors predicted = Cloud({{7, 7, 7}, {7, 7, 7}, {7, 7, 7}}, 3);
  for (int step = 1; step <= kLastStep; ++step) {
    const CloudTensors placed = steps.Place(step, predicted, newer_);
    ExpectRows(placed.positions_m, {{7, 7, 7}, kSlidingPoint[step + 1], kTurningPoint[step + 1]},
               "positions", step);
    ExpectRows(placed.features, {{3, 3}, {2, 2}, {2, 2}}, "features", step);
  }
}

/// A thing 5 mm in front of the sliding plate's point, which is 2 cm above the table here.
TEST_F(RobotStepsTest, GuessThatWhatIsTouchedFollows) {
  auto robot = std::make_shared<Robot>(robot_);
  for (Vec3f& point_m : robot->surface.positions_m) point_m[2] = 0.02f;
  KinematicRows rows = RowsOf(*robot);
  const auto at = [](float x) { return std::vector<float>{x, 0.03f, 0.02f}; };
  const CloudTensors before = Cloud(
      {at(-0.095f), at(-0.085f), at(-0.075f), {0.6f, 0.6f, 0}, {0.7f, 0.6f, 0}, {0.8f, 0.6f, 0}},
      2);
  const std::vector<std::int32_t> links(6, kNotAttached);
  const RobotSteps steps(robot.get(), rows, true, {before, links}, {before, links});
  const std::vector<float> positions_m(before.positions_m.const_data_ptr<float>(),
                                       before.positions_m.const_data_ptr<float>() + 18);
  const ContactGuess contacts(robot, {positions_m, links});
  ASSERT_EQ(contacts.rule().object_count(), 1u);

  ContactRule::Touched touched = contacts.rule().Untouched();
  const std::vector<float> stays(3, 0.f);
  const torch::Tensor guess_m = steps.Guess(1, before, contacts, &touched);
  ExpectRows(guess_m, {{0.2f, 0, 0}, {0.2f, 0, 0}, {0.2f, 0, 0}, stays, stays, stays}, "guess", 1);
  EXPECT_EQ(touched, ContactRule::Touched{1});
  const StepInput input = steps.InputOf(1, before, before, guess_m, kBox);
  const std::vector<float> free(4, 0.f);
  ExpectRows(input.surface.newer_motion,
             {{0, 0.2f, 0, 0}, {0, 0.2f, 0, 0}, {0, 0.2f, 0, 0}, free, free, free}, "newer motion",
             1);
  ExpectRows(input.surface.older_motion, Rows(6, free), "older motion", 1);

  ExpectRows(ContactGuessOf(input.surface),
             {{0.2f, 0, 0}, {0.2f, 0, 0}, {0.2f, 0, 0}, stays, stays, stays}, "guess in the input",
             1);

  // The next step goes on from where the particles have come.
  CloudTensors followed = before, left = before;
  followed.positions_m = before.positions_m + guess_m;
  ExpectRows(steps.Guess(2, followed, contacts, &touched),
             {{0.3f, 0, 0}, {0.3f, 0, 0}, {0.3f, 0, 0}, stays, stays, stays}, "guess", 2);
  left.positions_m = followed.positions_m + at::tensor({0.f, 0.01f, 0.f});
  EXPECT_EQ(steps.Guess(2, left, contacts, &touched).abs().sum().item<float>(), 0)
      << "1.1 cm from the point";
}

TEST_F(RobotStepsTest, OfLearnedMotionAttachNothing) {
  const RobotSteps steps = Steps(/*moves_exactly=*/false);
  const CloudTensors predicted = Cloud({{7, 7, 7}, {7, 7, 7}, {7, 7, 7}}, 3);
  for (int step = 1; step <= kLastStep; ++step) {
    const StepInput input = InputOf(steps, step);
    const Rows zeros(3, std::vector<float>(4, 0.f));
    ExpectRows(input.surface.older_motion, zeros, "older motion", step);
    ExpectRows(input.surface.newer_motion, zeros, "newer motion", step);
    EXPECT_TRUE(at::equal(steps.Place(step, predicted, newer_).positions_m, predicted.positions_m));
  }
}

TEST_F(RobotStepsTest, WithoutARobotSeeNoPoints) {
  const RobotSteps steps(nullptr, {}, /*moves_exactly=*/true, {older_, {}}, {newer_, {}});
  const StepInput input = InputOf(steps, 2);
  EXPECT_EQ(input.kinematic_points_m.sizes(), (std::vector<std::int64_t>{3, 0, 3}));
  EXPECT_EQ(input.surface.normals.sizes(), (std::vector<std::int64_t>{3, 0, 3}));
  EXPECT_EQ(input.surface.newer_motion.abs().sum().item<float>(), 0);
}

}  // namespace
}  // namespace interlacer::testing
