#include "evaluation/contact_motion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "robots/contact_rule.h"
#include "robots/forward_kinematics.h"
#include "tests/robots/hand_and_block.h"
#include "tests/support/clouds.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

using testing::AddPoint;
using testing::AddSurface;
using testing::BlockOnTable;
using testing::Cloud;
using testing::Hand;
using testing::kBlockParticles;
using testing::Link;

/// A plate 6 mm above a block at x = 10 cm, on an arm that turns about the vertical.
std::shared_ptr<const Robot> TurningPlate() {
  Robot robot;
  robot.links = {RobotLink{.name = "world"}, Link("arm", 0, JointType::kContinuous, {0, 0, 1})};
  robot.columns = {1};
  for (int x = -2; x <= 2; ++x) {
    for (int y = -2; y <= 2; ++y) {
      AddSurface(&robot, 1, 0.1 + 0.01 * x, 0.01 * y, 0.046, {0, 0, -1});
    }
  }
  return std::make_shared<const Robot>(std::move(robot));
}

/// A plate 6 mm below a block, on two slides, columns x and z.
std::shared_ptr<const Robot> Tray() {
  Robot robot;
  robot.links = {RobotLink{.name = "world"}, Link("x", 0, JointType::kPrismatic, {1, 0, 0}),
                 Link("z", 1, JointType::kPrismatic, {0, 0, 1})};
  robot.columns = {1, 2};
  for (int x = -2; x <= 2; ++x) {
    for (int y = -2; y <= 2; ++y) AddSurface(&robot, 2, 0.01 * x, 0.01 * y, 0.014, {0, 0, 1});
  }
  return std::make_shared<const Robot>(std::move(robot));
}

/// Joint values of the newest observation, then of each step.
BodyMotion Commanded(std::shared_ptr<const Robot> robot, std::vector<std::vector<double>> rows) {
  BodyMotion motion;
  motion.start = LinkPoses(*robot, rows.front());
  motion.link_count = motion.start.size();
  for (std::size_t step = 1; step < rows.size(); ++step) {
    motion.later.push_back(LinkPoses(*robot, rows[step]));
  }
  motion.robot = std::move(robot);
  motion.joints = std::move(rows);
  return motion;
}

/// Where the block's particles are at each step, and that the table's have kept their bits.
std::vector<Cloud> BlockBySteps(const ContactMotion& contact, const Cloud& cloud) {
  constexpr auto kEnd = static_cast<std::ptrdiff_t>(3 * kBlockParticles);
  std::vector<Cloud> blocks;
  for (int step = 0; step <= static_cast<int>(contact.motion.later.size()); ++step) {
    const Cloud carried = PositionsAt(contact.motion, step, contact.bodies, cloud);
    EXPECT_TRUE(std::equal(carried.begin() + kEnd, carried.end(), cloud.begin() + kEnd));
    blocks.emplace_back(carried.begin(), carried.begin() + kEnd);
  }
  return blocks;
}

void ExpectMoved(const Cloud& block, const Cloud& cloud, const Vec3d& by_m) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    EXPECT_NEAR(block[i], cloud[i] + by_m[i % 3], testing::kFloatPlaceToleranceM) << i;
  }
}

TEST(ContactMotion, AHeldBlockGoesWithTheHandWhereKinematicLeavesIt) {
  const Cloud cloud = BlockOnTable();
  const BodyMotion commanded = Commanded(Hand(), {{0, 0, 0, 0}, {0, .05, 0, 0}, {.05, .1, 0, 0}});
  const ContactMotion contact = FollowContacts(commanded, cloud);
  const std::vector<Cloud> blocks = BlockBySteps(contact, cloud);
  ExpectMoved(blocks[0], cloud, {0, 0, 0});
  ExpectMoved(blocks[1], cloud, {0, 0, .05});
  ExpectMoved(blocks[2], cloud, {.05, 0, .1});
  EXPECT_EQ(PositionsAt(commanded, 2, BodiesOfRobot(commanded, cloud), cloud), cloud);
}

TEST(ContactMotion, OtherParticlesGoWithTheObjectThatTheyLieOn) {
  const Cloud seen = BlockOnTable();
  const ContactMotion contact =
      FollowContacts(Commanded(Hand(), {{0, 0, 0, 0}, {0, .05, 0, 0}}), seen);
  // On the block, on a plate, on the table and far from all that was seen.
  const Cloud others = {.005f, 0, .04f, .026f, 0, .03f, .1f, .005f, 0, .001f, 0, .08f};
  const std::vector<std::int32_t> bodies = BodiesOfParticles(contact, seen, others);
  EXPECT_EQ(bodies,
            (std::vector<std::int32_t>{contact.bodies.front(), 4, kStandsStill, kStandsStill}));
  EXPECT_EQ(BodiesOfParticles(contact, seen, seen), contact.bodies);
}

TEST(ContactMotion, WhatIsHeldPushesWhatLiesInItsWayAndThatTheNext) {
  Cloud cloud = BlockOnTable();
  for (const double y : {.04, .06, .08, .1, .12}) {
    for (const double z : {.02, .04}) AddPoint(cloud, 0, y, z);  // a bar, of the held block
  }
  const std::size_t pieces = cloud.size() / 3;
  const double pieces_m[] = {.05, .083, -.05};
  for (const double x_m : pieces_m) {
    for (const double thick_m : {0., .008}) AddPoint(cloud, x_m + thick_m, .1, .02);
  }
  const ContactMotion contact = FollowContacts(
      Commanded(Hand(), {{0, 0, 0, 0}, {.06, 0, 0, 0}, {.1, 0, 0, 0}, {0, 0, 0, 0}}), cloud);
  // 1 cm before the bar it is touched: within the last of five substeps of 12 mm, then in all of
  // 8 mm; the second from the second of these on.
  const double moved_m[4][3] = {{0, 0, 0}, {.012, 0, 0}, {.052, .032, 0}, {.052, .032, 0}};
  for (int step = 0; step <= 3; ++step) {
    const Cloud now = PositionsAt(contact.motion, step, contact.bodies, cloud);
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t at = 3 * (pieces + i);
      EXPECT_NEAR(now[at], cloud[at] + moved_m[step][i / 2], testing::kFloatPlaceToleranceM);
      EXPECT_NEAR(now[at + 1], .1, testing::kFloatPlaceToleranceM);
      EXPECT_NEAR(now[at + 2], .02, testing::kFloatPlaceToleranceM);
    }
  }
}

TEST(ContactMotion, WhatIsLetGoFallsToWhereItStood) {
  const Cloud cloud = BlockOnTable();
  const ContactMotion contact = FollowContacts(
      Commanded(Hand(), {{0, 0, 0, 0}, {.05, .1, 0, 0}, {.05, .1, .03, .03}, {.05, .15, .03, .03}}),
      cloud);
  const std::vector<Cloud> blocks = BlockBySteps(contact, cloud);
  ExpectMoved(blocks[1], cloud, {.05, 0, .1});
  ExpectMoved(blocks[2], cloud, {.05, 0, 0});
  ExpectMoved(blocks[3], cloud, {.05, 0, 0});
}

TEST(ContactMotion, WhatWasHeldFromTheFirstFallsToTheSupport) {
  const Cloud cloud = BlockOnTable(0, 0.1);
  const ContactMotion contact =
      FollowContacts(Commanded(Hand(), {{0, .1, 0, 0}, {0, .1, .03, .03}}), cloud);
  ExpectMoved(BlockBySteps(contact, cloud)[1], cloud, {0, 0, -.115});  // 5 mm above the table
}

TEST(ContactMotion, WhatHangsGoesWithFingersThatNothingShowsToTouchItUntilOneOpens) {
  const Cloud cloud = BlockOnTable(0, 0.1);
  const double opens_m[][2] = {{0, .0055}, {.0055, 0}, {.0045, 0}};  // of .001 a substep
  for (const auto& [left_m, right_m] : opens_m) {
    // 14 mm from both, which the hand would leave in each of five substeps of 3 cm.
    const ContactMotion contact =
        FollowContacts(Commanded(Hand(), {{0, .1, .008, .008},
                                          {0, .25, .008, .008},
                                          {.1, .25, .008, .008},
                                          {.1, .25, .008 + left_m, .008 + right_m}}),
                       cloud);
    const std::vector<Cloud> blocks = BlockBySteps(contact, cloud);
    ExpectMoved(blocks[1], cloud, {0, 0, .15});
    ExpectMoved(blocks[2], cloud, {.1, 0, .15});
    const bool is_let_go = blocks[3][2] < .01;
    EXPECT_EQ(is_let_go, left_m + right_m > .005);
  }
}

TEST(ContactMotion, WhatHangsGoesWithNoSingleLinkNearby) {
  const Cloud cloud = BlockOnTable(0, 0.1);
  const ContactMotion contact =
      FollowContacts(Commanded(Hand(), {{0, .1, .008, .05}, {0, .25, .008, .05}}), cloud);
  ExpectMoved(BlockBySteps(contact, cloud)[1], cloud, {0, 0, 0});
}

/// A block of 4 x 4 cm is lifted, carried along x and let go; a thing 5 cm high begins at x =
/// 27 cm. Where everything is after that and `more`, the thing's particles last.
Cloud LetGoOver(double at_m, double end_m, std::vector<std::vector<double>> more = {}) {
  Cloud cloud = BlockOnTable();
  for (double x_m = .27; x_m < end_m; x_m += .01) {
    for (int y = -3; y <= 3; ++y) {
      for (const double z : {.03, .05}) AddPoint(cloud, x_m, .01 * y, z);
    }
  }
  std::vector<std::vector<double>> rows = {
      {0, 0, 0, 0}, {0, .1, 0, 0}, {at_m, .1, 0, 0}, {at_m, .1, .03, .03}, {at_m, .2, .03, .03}};
  rows.insert(rows.end(), more.begin(), more.end());
  const auto last = static_cast<int>(rows.size()) - 1;
  const ContactMotion contact = FollowContacts(Commanded(Hand(), std::move(rows)), cloud);
  return PositionsAt(contact.motion, last, contact.bodies, cloud);
}

TEST(ContactMotion, WhatIsLetGoFallsOnAThingOrFurnitureButNotOnAnEdge) {
  for (const double end_m : {.335, .9}) {
    EXPECT_NEAR(LetGoOver(.3, end_m)[2], .05, testing::kFloatPlaceToleranceM);
    EXPECT_NEAR(LetGoOver(.262, end_m)[2], .05, testing::kFloatPlaceToleranceM);
    EXPECT_NEAR(LetGoOver(.252, end_m)[2], .02, testing::kFloatPlaceToleranceM);
  }
}

TEST(ContactMotion, WhatLiesOnAThingStaysThereAndGoesWithIt) {
  // The hand comes down beside the thing and pushes it.
  const Cloud stays = LetGoOver(.3, .335, {{.15, .2, .03, .03}, {.15, 0, .03, .03}});
  EXPECT_NEAR(stays[2], .05, testing::kFloatPlaceToleranceM);
  const Cloud goes =
      LetGoOver(.3, .335, {{.15, .2, .03, .03}, {.15, 0, .03, .03}, {.25, 0, .03, .03}});
  const double pushed_m = goes[goes.size() - 3] - stays[stays.size() - 3];
  EXPECT_GT(pushed_m, .02);
  EXPECT_NEAR(goes[0] - stays[0], pushed_m, testing::kFloatPlaceToleranceM);
  EXPECT_NEAR(goes[2], .05, testing::kFloatPlaceToleranceM);
}

TEST(ContactMotion, APushedBlockGoesWithThePusherAndStaysWhenItLeaves) {
  const Cloud cloud = BlockOnTable();
  // Plates 46 mm away, of which the left one comes near to 6 mm after four substeps of 1 cm.
  const ContactMotion contact = FollowContacts(
      Commanded(Hand(),
                {{0, 0, .04, .04}, {.05, 0, .04, .04}, {.1, 0, .04, .04}, {.04, 0, .04, .04}}),
      cloud);
  const std::vector<Cloud> blocks = BlockBySteps(contact, cloud);
  ExpectMoved(blocks[1], cloud, {.01, 0, 0});
  ExpectMoved(blocks[2], cloud, {.06, 0, 0});
  ExpectMoved(blocks[3], cloud, {.06, 0, 0});
}

TEST(ContactMotion, ABlockIsHeldWhereTheSecondFingerIsNearAndDoesNotTouch) {
  const Cloud cloud = BlockOnTable();
  const ContactMotion contact =
      FollowContacts(Commanded(Hand(), {{0, 0, 0, .012}, {0, .05, 0, .012}}), cloud);
  ExpectMoved(BlockBySteps(contact, cloud)[1], cloud, {0, 0, .05});  // 6 and 18 mm
}

TEST(ContactMotion, AHandThatSlidesAlongAFaceCarriesNothing) {
  const Cloud cloud = BlockOnTable();
  const ContactMotion contact = FollowContacts(
      Commanded(Hand(), {{0, 0, 0, .05}, {0, .01, 0, .05}, {0, .05, 0, .05}}), cloud);
  for (const Cloud& block : BlockBySteps(contact, cloud)) {
    EXPECT_TRUE(std::equal(block.begin(), block.end(), cloud.begin()));
  }
}

TEST(ContactMotion, WhatAHandOnlyPassesDoesNotFall) {
  const Cloud cloud = BlockOnTable(0, 0.06);  // its foot is hidden
  const ContactMotion contact = FollowContacts(
      Commanded(Hand(), {{0, .06, 0, .05}, {0, .09, 0, .05}, {-.1, .09, 0, .05}}), cloud);
  for (const Cloud& block : BlockBySteps(contact, cloud)) ExpectMoved(block, cloud, {0, 0, 0});
}

TEST(ContactMotion, AFingerBelowTheTopOfABlockDoesNotBearIt) {
  Cloud cloud = BlockOnTable();
  for (std::size_t i = 0; i < kBlockParticles; ++i)
    cloud[3 * i + 2] = .04f;  // its sides are hidden
  const ContactMotion contact =
      FollowContacts(Commanded(Hand(), {{0, -.005, 0, .05}, {0, .005, 0, .05}}), cloud);
  for (const Cloud& block : BlockBySteps(contact, cloud)) ExpectMoved(block, cloud, {0, 0, 0});
}

TEST(ContactMotion, APushedBlockKeepsItsHeight) {
  const Cloud cloud = BlockOnTable();
  for (const double rise_m : {.01, -.01}) {
    const ContactMotion contact =
        FollowContacts(Commanded(Hand(), {{0, 0, 0, .05}, {.03, rise_m, 0, .05}}), cloud);
    ExpectMoved(BlockBySteps(contact, cloud)[1], cloud, {.03, 0, 0});
  }
}

TEST(ContactMotion, WhatLiesOnALinkGoesWithIt) {
  const Cloud cloud = BlockOnTable();
  const ContactMotion contact =
      FollowContacts(Commanded(Tray(), {{0, 0}, {.05, .1}, {.05, .05}}), cloud);
  const std::vector<Cloud> blocks = BlockBySteps(contact, cloud);
  ExpectMoved(blocks[1], cloud, {.05, 0, .1});
  ExpectMoved(blocks[2], cloud, {.05, 0, .05});
}

TEST(ContactMotion, NothingIsPressedIntoTheTable) {
  const Cloud cloud = BlockOnTable();
  // The left plate stands on edge above the block and comes down to its foot.
  const ContactMotion contact =
      FollowContacts(Commanded(Hand(), {{.026, .055, 0, 0}, {.026, .005, 0, 0}}), cloud);
  ExpectMoved(BlockBySteps(contact, cloud)[1], cloud, {0, 0, 0});
}

TEST(ContactMotion, WhatIsLargerThanAnObjectIsFurnitureAndStays) {
  const std::vector<std::vector<double>> rows = {{0, 0, 0, 0}, {0, .1, 0, 0}};
  Cloud cloud = BlockOnTable();
  EXPECT_TRUE(FollowContacts(Commanded(Hand(), rows), cloud).bodies.front() >= 0);
  for (double y = 0.05; y < kLargestObjectM + 0.05; y += 0.03) AddPoint(cloud, 0, y, 0.04);
  EXPECT_EQ(FollowContacts(Commanded(Hand(), rows), cloud).bodies.front(), kStandsStill);
}

TEST(ContactMotion, OfTwoLinksTheNearerDecides) {
  const Cloud cloud = BlockOnTable();
  const ContactMotion moving =
      FollowContacts(Commanded(Hand(), {{0, 0, 0, .002}, {0, 0, -.0015, .002}}), cloud);
  ExpectMoved(BlockBySteps(moving, cloud)[1], cloud, {.0015, 0, 0});
  const ContactMotion still =
      FollowContacts(Commanded(Hand(), {{0, 0, .002, 0}, {0, 0, .0005, 0}}), cloud);
  EXPECT_EQ(BlockBySteps(still, cloud)[1], BlockBySteps(still, cloud)[0]);
}

TEST(ContactMotion, ABlockTurnsWithItsLinkTheShorterWayRound) {
  const Cloud cloud = BlockOnTable(0.1);
  const auto robot = TurningPlate();
  // Where the plate is at 3 rad the block is now.
  Robot turned = *robot;
  turned.links[1].joint.parent_from_joint.rotation_xyzw = {0, 0, std::sin(-1.5), std::cos(-1.5)};
  const ContactMotion contact = FollowContacts(
      Commanded(std::make_shared<const Robot>(std::move(turned)), {{3}, {-3}}), cloud);
  const Cloud block = BlockBySteps(contact, cloud)[1];
  const double angle = 2 * std::numbers::pi - 6;
  for (std::size_t i = 0; i < kBlockParticles; ++i) {
    const double x = cloud[3 * i], y = cloud[3 * i + 1];
    EXPECT_NEAR(block[3 * i], std::cos(angle) * x - std::sin(angle) * y,
                testing::kFloatPlaceToleranceM);
    EXPECT_NEAR(block[3 * i + 1], std::sin(angle) * x + std::cos(angle) * y,
                testing::kFloatPlaceToleranceM);
    EXPECT_NEAR(block[3 * i + 2], cloud[3 * i + 2], testing::kFloatPlaceToleranceM);
  }
}

void ExpectCommanded(const ContactMotion& contact, const BodyMotion& commanded,
                     const Cloud& cloud) {
  EXPECT_EQ(contact.motion.start, commanded.start);
  EXPECT_EQ(contact.motion.later, commanded.later);
  EXPECT_EQ(contact.bodies, BodiesOfRobot(commanded, cloud));
}

TEST(ContactMotion, WhereNothingIsTouchedItIsTheCommandedMotion) {
  const Cloud cloud = BlockOnTable();
  const BodyMotion commanded = Commanded(Hand(), {{.2, 0, 0, 0}, {.25, 0, 0, 0}});
  ExpectCommanded(FollowContacts(commanded, cloud), commanded, cloud);
  // A hand that stands still holds a block still.
  const BodyMotion still = Commanded(Hand(), {{0, 0, 0, 0}, {0, 0, 0, 0}});
  ExpectCommanded(FollowContacts(still, cloud), still, cloud);
}

TEST(ContactMotion, WithoutARobotOrParticlesNothingMoves) {
  const Cloud cloud = BlockOnTable();
  BodyMotion no_robot;
  no_robot.later.resize(2);
  ExpectCommanded(FollowContacts(no_robot, cloud), no_robot, cloud);
  const BodyMotion commanded = Commanded(Hand(), {{0, 0, 0, 0}, {0, .1, 0, 0}});
  ExpectCommanded(FollowContacts(commanded, {}), commanded, {});
}

TEST(ContactMotion, TwiceTheSameBits) {
  const Cloud cloud = BlockOnTable();
  const BodyMotion commanded = Commanded(Hand(), {{0, 0, 0, 0}, {.05, .1, 0, 0}});
  const ContactMotion first = FollowContacts(commanded, cloud);
  const ContactMotion second = FollowContacts(commanded, cloud);
  EXPECT_EQ(first.motion.later, second.motion.later);
  EXPECT_EQ(first.bodies, second.bodies);
  EXPECT_EQ(first.motion.start.size(), commanded.start.size() + 1);
}

}  // namespace
}  // namespace interlacer
