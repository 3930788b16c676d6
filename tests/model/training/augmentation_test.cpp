#include "model/training/augmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numbers>
#include <set>
#include <vector>

#include "common/transforms.h"
#include "model/training/sample_source.h"
#include "model/training/sequence_loss.h"
#include "robots/forward_kinematics.h"
#include "tests/model/plane_robot.h"
#include "tests/model/plate_episode.h"
#include "tests/model/tiny_scene.h"
#include "tests/model/training/trainer_fixture.h"

namespace interlacer {
namespace {

constexpr double kTurnedToleranceM = 1e-6, kTurnedLossTolerance = 1e-5;

TEST(TurnSample, AQuarterTurnsEveryPlaceAroundTheMiddleOfTheWorkspace) {
  TrainingSample sample;
  sample.workspace = {{0, 0, 0}, {2, 4, 1}};  // the middle is (1, 2)
  sample.older.positions_m = sample.newer.positions_m = {2, 2, 0.5f};
  sample.robot = std::make_shared<const Robot>(testing::TwoPlates());
  sample.robot_rows.joints = {{0.3, 0.1}};
  sample.robot_rows.link_poses = {LinkPoses(*sample.robot, sample.robot_rows.joints[0])};
  sample.robot_rows.link_poses[0].push_back({{2, 2, 0}, {0, 0, 0, 1}});
  sample.tracks.positions_m = {{1, 2, 0}};
  SupervisedView view;
  view.camera.world_from_camera = {{1, 1, 0}, {0, 0, 0, 1}};
  sample.target_steps = {{view}};
  TurnSample(std::numbers::pi / 2, &sample);
  const auto expect = [](const float* p, double x, double y, double z) {
    EXPECT_NEAR(p[0], x, kTurnedToleranceM);
    EXPECT_NEAR(p[1], y, kTurnedToleranceM);
    EXPECT_NEAR(p[2], z, kTurnedToleranceM);
  };
  expect(sample.older.positions_m.data(), 1, 3, 0.5);
  expect(sample.newer.positions_m.data(), 1, 3, 0.5);
  expect(sample.tracks.positions_m[0].data(), 1, 2, 0);
  const std::vector<Transform>& poses = sample.robot_rows.link_poses[0];
  const std::vector<Transform> by_joints = LinkPoses(*sample.robot, sample.robot_rows.joints[0]);
  for (std::size_t link = 0; link < by_joints.size(); ++link) {
    const Vec3d at_m = Apply(poses[link], {1, 0, 0}), same_m = Apply(by_joints[link], {1, 0, 0});
    EXPECT_LE(DistanceM(at_m, same_m), kTurnedToleranceM) << "link " << link;
  }
  const Vec3d tip = Apply(poses.back(), {1, 0, 0});
  EXPECT_NEAR(tip[0], 1, kTurnedToleranceM);
  EXPECT_NEAR(tip[1], 4, kTurnedToleranceM);
  const Vec3d ahead = Apply(sample.target_steps[0][0].camera.world_from_camera, {0, 1, 0});
  EXPECT_NEAR(ahead[0], 1, kTurnedToleranceM);
  EXPECT_NEAR(ahead[1], 2, kTurnedToleranceM);
}

TEST(RecolorSample, AllImagesGetOneShuffleAndOneFactorAChannel) {
  TrainingSample original;
  RgbImage image;
  image.width_px = 2;
  image.height_px = 1;
  image.pixels = {10, 20, 40, 100, 0, 250};
  original.older.images = original.newer.images = {image, image};
  original.target_steps = {{{{}, image, {}, {}, {}}}};
  std::set<std::vector<std::uint8_t>> seen;
  for (std::uint32_t draw = 0; draw < 20; ++draw) {
    TrainingSample sample = original;
    RecolorSample(RandomSequence(1, RandomStream::kAugmentation, draw, 0), &sample);
    const std::vector<std::uint8_t>& p = sample.newer.images[0].pixels;
    for (const LiftedTime* time : {&sample.older, &sample.newer}) {
      for (const RgbImage& each : time->images) EXPECT_EQ(each.pixels, p);
    }
    EXPECT_EQ(sample.target_steps[0][0].color.pixels, image.pixels);
    // Where a pixel had nothing of a channel, exactly one channel has nothing.
    EXPECT_EQ(std::count(p.begin() + 3, p.end(), 0), 1);
    for (int c = 0; c < 3; ++c) {
      const auto within = [&](int was) {
        return p[c] >= kMinChannelFactor * was - 1 && p[c] <= kMaxChannelFactor * was + 1;
      };
      EXPECT_TRUE(within(10) || within(20) || within(40)) << int{p[c]};
    }
    seen.insert(p);
  }
  EXPECT_GE(seen.size(), 15u);
}

class TurnedSequence : public testing::TrainerFixture {};

// Positions relative to cameras and links are as they were, so that a model in which nothing but
// the robot moves has the same loss.
TEST_F(TurnedSequence, PicturesOfARobotThatMovesExactlyAreTheSame) {
  TrainOptions options =
      testing::TinyRun(testing::WritePlateEpisode(root_ + "/plates"), "unused", 1);
  const InterlacerConfig exact = testing::TinyExactConfig();
  InterlacerConfig& config = options.config.model;
  config.robot_motion = exact.robot_motion;
  TrainingSample sample = MakeDatasetSource(config, options.datasets, 7)
                              .value()
                              ->Draw({.rollout_steps = 2, .particle_count = 512})
                              .value();
  WorldModel model(config);
  InitializeWeights(&model, 3);
  SequenceLossOptions loss_options;
  loss_options.ray_count = 64;
  loss_options.jitter_depth = false;
  const double before = ComputeSequenceLoss(&model, sample, loss_options).prediction;
  TurnSample(1.1, &sample);
  const double after = ComputeSequenceLoss(&model, sample, loss_options).prediction;
  EXPECT_GT(before, 1e-3);
  EXPECT_NEAR(after, before, kTurnedLossTolerance);
}

}  // namespace
}  // namespace interlacer
