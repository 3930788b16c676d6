#include "model/training/augmentation.h"

#include <gtest/gtest.h>

#include <numbers>

#include "common/transforms.h"
#include "model/training/sample_source.h"
#include "model/training/sequence_loss.h"
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
  sample.robot_rows.link_poses = {{Transform{{2, 2, 0}, {0, 0, 0, 1}}}};
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
  const Vec3d tip = Apply(sample.robot_rows.link_poses[0][0], {1, 0, 0});
  EXPECT_NEAR(tip[0], 1, kTurnedToleranceM);
  EXPECT_NEAR(tip[1], 4, kTurnedToleranceM);
  const Vec3d ahead = Apply(sample.target_steps[0][0].camera.world_from_camera, {0, 1, 0});
  EXPECT_NEAR(ahead[0], 1, kTurnedToleranceM);
  EXPECT_NEAR(ahead[1], 2, kTurnedToleranceM);
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
