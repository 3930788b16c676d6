/// Training where the robot moves exactly: a tiny model learns from an episode of another robot and
/// predicts it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "data/scene_input.h"
#include "model/files/checkpoint.h"
#include "model/predictor.h"
#include "model/training/augmentation.h"
#include "model/training/sample_source.h"
#include "model/training/sequence_loss.h"
#include "robots/attachment.h"
#include "tests/model/plate_episode.h"
#include "tests/model/tiny_scene.h"
#include "tests/model/training/trainer_fixture.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

using testing::CountingObserver;

class ExactRobotTraining : public testing::TrainerFixture {
 protected:
  void SetUp() override {
    TrainerFixture::SetUp();
    plates_ = testing::WritePlateEpisode(root_ + "/plates");
  }

  /// A run on an episode with the tiny exact model's tokens, gate and motion.
  TrainOptions ExactOptions(const std::string& name, std::int64_t steps,
                            const std::string& episode) const {
    TrainOptions options = testing::TinyRun(episode, root_ + "/" + name, steps);
    const InterlacerConfig exact = testing::TinyExactConfig();
    InterlacerConfig& model = options.config.model;
    model.robot_motion = exact.robot_motion;
    model.network.motion_gate = true;
    options.config.training.rollout_steps = {{0, 2}};
    return options;
  }

  TrainingSample Draw(const TrainOptions& options) const {
    const auto source =
        MakeDatasetSource(options.config.model, options.datasets, options.seed).value();
    return source->Draw({.rollout_steps = 2, .particle_count = 512}).value();
  }

  std::string plates_;
};

TEST_F(ExactRobotTraining, ATinyModelLearnsFromAnotherRobotAndPredictsIt) {
  CountingObserver observer;
  Must(Train(ExactOptions("run", 4, plates_), &observer));
  for (const double loss : observer.losses) EXPECT_TRUE(std::isfinite(loss));
  const auto checkpoint = Must(LoadCheckpoint(root_ + "/run/checkpoint", {}));
  ASSERT_NE(checkpoint.robot, nullptr);
  const auto episode = EpisodeReader::Open(plates_).value();
  EXPECT_EQ(checkpoint.robot->sha256, episode.robot()->sha256);

  const auto predictor =
      Predictor::Load(root_ + "/run/checkpoint", {"tiny", DeviceRequest::kCpu}).value();
  EXPECT_EQ(predictor->metadata().robot_model_name, "two_plates");
  EXPECT_EQ(predictor->metadata().action_columns[0].name, "turn_rad");
  EXPECT_FALSE(predictor->metadata().accepts_kinematic_points);
  SceneInput input = MakeSceneInput(episode, {}).value();
  input.robot = nullptr;
  const auto scene = Must(predictor->Lift(input));
  const auto rollout = predictor->Begin(scene, MakePlannedActions(episode, {}, 3).value()).value();
  const std::vector<float> start = (*rollout->ReadParticles())->positions_m;
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(rollout->Step().ok());
  const std::vector<float>& now = (*rollout->ReadParticles())->positions_m;
  int of_slider = 0;
  for (std::size_t i = 0; i < start.size(); i += 3) {
    // Well inside the plate, which is one step along when it is seen.
    const double x = start[i] - testing::kSlidingPlateXM - testing::kPlateSlideM;
    if (std::max(std::abs(x), std::abs(double{start[i + 1]})) > testing::kPlateHalfM) continue;
    ++of_slider;
    EXPECT_NEAR(now[i], start[i] + 3 * testing::kPlateSlideM, 1e-6);
    EXPECT_EQ(now[i + 1], start[i + 1]);
  }
  EXPECT_GT(of_slider, 3);
}

TEST_F(ExactRobotTraining, SamplesHoldPosesAndAttachments) {
  const TrainingSample sample = Draw(ExactOptions("unused", 1, plates_));
  EXPECT_EQ(sample.robot_rows.link_poses.size(), 4u);
  EXPECT_EQ(sample.robot->name, "two_plates");
  for (const LiftedTime* time : {&sample.older, &sample.newer}) {
    ASSERT_EQ(time->links.size(), time->source_index.size());
    EXPECT_GT(std::count(time->links.begin(), time->links.end(), 1), 5);
    EXPECT_GT(std::count(time->links.begin(), time->links.end(), 2), 5);
    EXPECT_GT(std::count(time->links.begin(), time->links.end(), kNotAttached), 100);
  }
  TrainOptions learned = ExactOptions("unused", 1, plates_);
  learned.config.model.robot_motion = RobotMotion::kLearned;
  EXPECT_TRUE(Draw(learned).newer.links.empty());
}

TEST_F(ExactRobotTraining, EpisodesOfAnotherWorkspaceThanTheModelsAreSaid) {
  CountingObserver observer;
  TrainOptions options = ExactOptions("run", 1, plates_);
  Must(Train(options, &observer));
  ASSERT_EQ(observer.notes.size(), 1u);
  EXPECT_THAT(observer.notes[0],
              AllOf(HasSubstr(plates_ + " is 2 m"), HasSubstr("1.5 m"), HasSubstr("--workspace")));

  options.config.model.data.workspace = {{-1, -1, -0.1}, {1, 1, 1}};
  const auto source = Must(MakeDatasetSource(options.config.model, options.datasets, 0));
  EXPECT_EQ(source->note(), "");
}

TEST_F(ExactRobotTraining, JointsAreTakenByNameWhateverOrderTheTablesHave) {
  const std::string reversed =
      testing::WritePlateEpisode(root_ + "/reversed", true, testing::PlateColumns::kReversed);
  const TrainingSample expected = Draw(ExactOptions("unused", 1, plates_));
  const TrainingSample sample = Draw(ExactOptions("unused", 1, reversed));
  ASSERT_EQ(sample.robot_rows.link_poses.size(), expected.robot_rows.link_poses.size());
  EXPECT_EQ(sample.robot_rows.link_poses, expected.robot_rows.link_poses);
  EXPECT_EQ(sample.newer.links, expected.newer.links);
}

TEST_F(ExactRobotTraining, OnlyWhatTheNetworkMovesHasAPrice) {
  const TrainOptions options = ExactOptions("unused", 1, plates_);
  const TrainingSample sample = Draw(options);
  WorldModel model(options.config.model);
  InitializeWeights(&model, 3);  // nothing but the robot moves
  SequenceLossOptions free, priced;
  free.ray_count = priced.ray_count = 32;
  priced.regularization.displacement = priced.regularization.feature_change = 100;
  const double without = ComputeSequenceLoss(&model, sample, free).total.item<double>();
  EXPECT_NEAR(ComputeSequenceLoss(&model, sample, priced).total.item<double>(), without,
              1e-6 * without);
}

constexpr float kTouchedM = 0.009f;

/// Lays nine free particles over the sliding plate; tracks say that they go with it and that all
/// others stay. Their places.
std::vector<float> LayTile(TrainingSample* sample, float height_m = kTouchedM) {
  const std::vector<std::vector<double>>& joints = sample->robot_rows.joints;
  LiftedTime& newer = sample->newer;
  std::vector<std::size_t> tile;
  std::vector<float> places_m;
  for (std::size_t i = 0; tile.size() < 9; ++i) {
    if (newer.links[i] == kNotAttached) tile.push_back(i);
  }
  for (std::size_t k = 0; k < tile.size(); ++k) {
    float* p = newer.positions_m.data() + 3 * tile[k];
    p[0] = static_cast<float>(testing::kSlidingPlateXM + joints[1][1] + 0.01 * (k % 3));
    p[1] = static_cast<float>(0.01 * (k / 3));
    p[2] = height_m;
    places_m.insert(places_m.end(), p, p + 3);
  }
  sample->tracks.is_known.assign(newer.links.size(), 1);
  for (int step = 1; step <= sample->step_count; ++step) {
    sample->tracks.positions_m.push_back(newer.positions_m);
    const double slid_m = joints[static_cast<std::size_t>(step) + 1][1] - joints[1][1];
    for (const std::size_t i : tile) {
      sample->tracks.positions_m.back()[3 * i] += static_cast<float>(slid_m);
    }
  }
  for (std::size_t i = 0; i < newer.links.size(); ++i) {
    if (newer.links[i] != kNotAttached) sample->tracks.is_known[i] = 0;
  }
  return places_m;
}

SequenceLossOptions TracksAlone() {
  SequenceLossOptions options;
  options.reconstruction_weight = options.video_weight = 0;
  options.track_weight = 1;
  return options;
}

TEST_F(ExactRobotTraining, AContactGuessIsTakenAsFarAsItIsTrusted) {
  TrainOptions options = ExactOptions("unused", 1, plates_);
  TrainingSample sample = Draw(options);
  LayTile(&sample);
  const SequenceLossOptions tracks = TracksAlone();
  for (const double yaw_rad : {0.0, 1.1}) {
    TurnSample(yaw_rad, &sample);
    for (const bool guesses : {false, true}) {
      options.config.model.network.contact_guess = guesses;
      WorldModel model(options.config.model);
      InitializeWeights(&model, 3);  // nothing but the robot moves
      if (guesses) testing::TrustGuess(&model);
      const SequenceLoss loss = ComputeSequenceLoss(&model, sample, tracks);
      EXPECT_GT(loss.still_track_m, 0.01);
      EXPECT_NEAR(loss.track_m, guesses ? 0 : loss.still_track_m, 1e-6) << yaw_rad;
      loss.total.backward();
      EXPECT_TRUE(std::isfinite(loss.total.item<double>()));
    }
  }
}

TEST_F(ExactRobotTraining, AGuessSeesPointsOfItsOwnWhereParticlesAreFewer) {
  TrainOptions options = ExactOptions("unused", 1, plates_);
  EXPECT_TRUE(Draw(options).seen.links.empty());
  options.config.model.network.contact_guess = true;
  options.config.model.lifting.contact_point_count = 512;
  EXPECT_TRUE(Draw(options).seen.links.empty()) << "as many as there are particles";
  options.config.model.lifting.contact_point_count = 4096;
  TrainingSample sample = Draw(options);
  // Of the views as they were recorded.
  for (CameraSpec& camera : options.config.model.data.cameras) {
    camera.width_px = 32, camera.height_px = 24;
  }
  EXPECT_EQ(Draw(options).seen.positions_m, sample.seen.positions_m);
  const LinkedPoints seen = sample.seen.linked();
  ASSERT_GT(seen.links.size(), sample.newer.links.size());
  EXPECT_GT(std::count(seen.links.begin(), seen.links.end(), 2), 5);
  // They turn with the particles: as far from the first of these as before.
  const auto distances_m = [&] {
    std::vector<double> out;
    for (std::size_t i = 0; i < sample.seen.positions_m.size(); i += 3) {
      out.push_back(std::hypot(sample.seen.positions_m[i] - sample.newer.positions_m[0],
                               sample.seen.positions_m[i + 1] - sample.newer.positions_m[1],
                               sample.seen.positions_m[i + 2] - sample.newer.positions_m[2]));
    }
    return out;
  };
  const std::vector<double> before_m = distances_m();
  TurnSample(1.1, &sample);
  const std::vector<double> after_m = distances_m();
  for (std::size_t i = 0; i < before_m.size(); ++i) {
    EXPECT_NEAR(after_m[i], before_m[i], 1e-6) << i;
  }
}

TEST_F(ExactRobotTraining, WhatIsSeenToBeTouchedTakesTheParticlesThatLieOnIt) {
  TrainOptions options = ExactOptions("unused", 1, plates_);
  options.config.model.network.contact_guess = true;
  options.config.model.lifting.contact_point_count = 4096;
  TrainingSample sample = Draw(options);
  const std::vector<float> tile_m = LayTile(&sample, 2 * kTouchedM);
  WorldModel model(options.config.model);
  InitializeWeights(&model, 3);  // nothing but the robot moves
  testing::TrustGuess(&model);
  const SequenceLoss above = ComputeSequenceLoss(&model, sample, TracksAlone());
  EXPECT_GT(above.still_track_m, 0.01);
  EXPECT_NEAR(above.track_m, above.still_track_m, 1e-6) << "nothing touches them";
  for (std::size_t i = 0; i < tile_m.size(); i += 3) {
    sample.seen.positions_m.insert(sample.seen.positions_m.end(),
                                   {tile_m[i], tile_m[i + 1], kTouchedM});
    sample.seen.links.push_back(kNotAttached);
  }
  EXPECT_NEAR(ComputeSequenceLoss(&model, sample, TracksAlone()).track_m, 0, 1e-6);
}

TEST_F(ExactRobotTraining, AContactGuessMayBeLearntByAModelWithoutOne) {
  CountingObserver observer;
  Must(Train(ExactOptions("without", 1, plates_), &observer));
  TrainOptions options = ExactOptions("with", 1, plates_);
  options.initial_checkpoint = root_ + "/without/checkpoint";
  options.config.model.network.contact_guess = true;
  Must(Train(options, &observer));
  EXPECT_TRUE(
      Must(LoadCheckpoint(root_ + "/with/checkpoint", {})).model->config().network.contact_guess);
  options.config.model.network.contact_guess = false;
  options.initial_checkpoint = root_ + "/with/checkpoint";
  options.output_dir = root_ + "/back";
  const Status back = Train(options, &observer).status();
  EXPECT_EQ(back.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(back.field(), "network.contact_guess");
}

TEST_F(ExactRobotTraining, AGuessThatSawPointsOfItsOwnGoesOnSeeingThem) {
  CountingObserver observer;
  TrainOptions options = ExactOptions("seeing", 1, plates_);
  options.config.model.network.contact_guess = true;
  options.config.model.lifting.contact_point_count = 4096;
  Must(Train(options, &observer));
  options.initial_checkpoint = root_ + "/seeing/checkpoint";
  options.output_dir = root_ + "/on";
  options.config.model.lifting.contact_point_count = 2048;
  Must(Train(options, &observer));
  options.output_dir = root_ + "/blind";
  options.config.model.lifting.contact_point_count = 0;
  const Status blind = Train(options, &observer).status();
  EXPECT_EQ(blind.reason(), reason::CONFIG_INVALID);
  EXPECT_EQ(blind.field(), "lifting.contact_point_count");
}

TEST_F(ExactRobotTraining, ASceneWithoutARobotStandsStillWhateverTheNetworkSays) {
  const TrainOptions options = ExactOptions("unused", 1, episode_);
  const TrainingSample sample = Draw(options);
  const auto loss = [&](bool moves) {
    WorldModel model(options.config.model);
    InitializeWeights(&model, 3);
    if (moves) testing::PerturbHeads(&model);
    SequenceLossOptions loss_options;
    loss_options.ray_count = 32;
    return ComputeSequenceLoss(&model, sample, loss_options).prediction;
  };
  EXPECT_EQ(loss(true), loss(false));
}

TEST_F(ExactRobotTraining, AnEpisodeWithoutARobotFolderIsRefusedBeforeTheFirstStep) {
  const std::string bare = testing::WritePlateEpisode(root_ + "/bare", false);
  CountingObserver observer;
  const Status summary = Train(ExactOptions("run", 1, bare), &observer).status();
  EXPECT_EQ(summary.reason(), "ACTION_KIND");
  EXPECT_THAT(summary.ToString(), HasSubstr(bare));
  EXPECT_THAT(summary.ToString(), HasSubstr("robot folder"));
}

}  // namespace
}  // namespace interlacer
