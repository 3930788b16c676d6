#include "evaluation/baselines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "evaluation/episode_evaluation.h"
#include "robots/forward_kinematics.h"
#include "tests/evaluation/moving_block.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

using testing::kBlockStepM;

const ViewScore* FindScore(const EpisodeEvaluation& evaluation, const std::string& camera, int step,
                           std::string_view subject, std::string_view metric) {
  const EvaluatedView* view = evaluation.Find(camera, step);
  if (view == nullptr) return nullptr;
  for (const ViewScore& score : view->scores) {
    if (score.subject == subject && score.metric == metric) return &score;
  }
  return nullptr;
}

class BaselinesTest : public ::testing::Test {
 protected:
  /// Two rollout steps from step 1, without a model.
  EpisodeEvaluation Evaluate(const EpisodeReader& episode) {
    request_.subjects = {"kinematic", "contact", "copy_last", "oracle_motion"};
    request_.step_count = 2;
    metadata_ = *MetadataWithoutModel(episode.manifest(), {});
    auto task = MakePredictionTask(episode, metadata_, request_);
    INTERLACER_CHECK(task.ok(), task.status().ToString());
    task_ = *std::move(task);
    auto evaluation = EvaluateEpisode(
        episode, task_, metadata_, nullptr,
        [](const PredictedStep&, const std::vector<EvaluatedView>&) { return Status::Ok(); }, {});
    INTERLACER_CHECK(evaluation.ok(), evaluation.status().ToString());
    return *std::move(evaluation);
  }

  EpisodeReader Write(const testing::MovingBlock& what) const {
    return testing::WriteMovingBlock(folder_.File("episode"), what);
  }

  static double Value(const EpisodeEvaluation& evaluation, int step, std::string_view subject,
                      std::string_view metric) {
    const ViewScore* score = FindScore(evaluation, "left", step, subject, metric);
    return score == nullptr ? -2 : score->value.value_or(-1);
  }

  const TempFolder folder_;
  PredictionRequest request_;
  ModelMetadata metadata_;
  PredictionTask task_;
};

TEST_F(BaselinesTest, KinematicMovesTheRobotAsCommandedAndNothingElse) {
  request_.robot = std::make_shared<const Robot>(testing::SlidingBlock());
  const EpisodeEvaluation evaluation = Evaluate(Write({.is_robot = true}));
  for (const int step : {1, 2}) {
    // A few pixels at its foot are nearer to no surface point than they may be.
    EXPECT_LT(Value(evaluation, step, kKinematicSubject, kL2Robot), 0.01 * kBlockStepM * step);
    EXPECT_NEAR(Value(evaluation, step, kCopyLast, kL2Robot), kBlockStepM * step,
                testing::kFloatPlaceToleranceM);
    EXPECT_EQ(Value(evaluation, step, kOracleMotion, kL2Robot), 0);
    EXPECT_EQ(Value(evaluation, step, kCopyLast, kL2Static), 0);
    EXPECT_GT(Value(evaluation, step, kKinematicSubject, kSsim),
              Value(evaluation, step, kCopyLast, kSsim) + 0.005);
    EXPECT_GT(Value(evaluation, step, kKinematicSubject, kSsimMoving),
              Value(evaluation, step, kCopyLast, kSsimMoving) + 0.05);
  }
  // No object moves, and no pixel shows one.
  EXPECT_EQ(Value(evaluation, 2, kKinematicSubject, kL2Moved), -1);
  EXPECT_EQ(Value(evaluation, 2, kKinematicSubject, kSsimObjects), -1);
}

TEST_F(BaselinesTest, StepZeroOfAnObservedCameraIsItsFrame) {
  request_.robot = std::make_shared<const Robot>(testing::SlidingBlock());
  const EpisodeEvaluation evaluation = Evaluate(Write({.is_robot = true}));
  for (const char* camera : {"left", "right"}) {
    const EvaluatedView* view = evaluation.Find(camera, 0);
    for (const std::string_view subject : {kKinematicSubject, kOracleMotion}) {
      EXPECT_EQ(view->Picture(subject)->pixels, view->truth->pixels) << camera << subject;
      const ViewScore* psnr = FindScore(evaluation, camera, 0, subject, kPsnr);
      EXPECT_FALSE(psnr->value);
      EXPECT_EQ(psnr->reason, "equal images");
    }
  }
}

TEST_F(BaselinesTest, PixelsThatNothingReachesStayEqualBetweenSteps) {
  request_.robot = std::make_shared<const Robot>(testing::SlidingBlock());
  const EpisodeEvaluation evaluation = Evaluate(Write({.is_robot = true}));
  const RgbImage& now = *evaluation.Find("left", 0)->Picture(kKinematicSubject);
  const RgbImage& later = *evaluation.Find("left", 2)->Picture(kKinematicSubject);
  const RgbImage& truth = *evaluation.Find("left", 2)->truth;
  std::size_t equal = 0, wrong = 0;
  for (std::size_t i = 0; i < now.pixels.size(); i += 3) {
    const bool is_still = std::equal(&now.pixels[i], &now.pixels[i] + 3, &truth.pixels[i]);
    const bool is_kept = std::equal(&now.pixels[i], &now.pixels[i] + 3, &later.pixels[i]);
    equal += is_kept;
    wrong += is_still && !is_kept;
  }
  EXPECT_GT(equal, now.pixels.size() / 3 * 9 / 10);
  EXPECT_LT(wrong, 60u);  // along the block's outline
}

TEST_F(BaselinesTest, TrueMotionCarriesObjectsAndTheirPhasesAreTold) {
  const EpisodeEvaluation evaluation = Evaluate(Write({.hidden_objects = {"ghost"}}));
  for (const int step : {1, 2}) {
    EXPECT_EQ(Value(evaluation, step, kOracleMotion, kL2Moved), 0) << step;
    for (const std::string_view still : {kKinematicSubject, kCopyLast}) {
      EXPECT_NEAR(Value(evaluation, step, still, kL2Moved), kBlockStepM * step,
                  testing::kFloatPlaceToleranceM);
      EXPECT_NEAR(Value(evaluation, step, still, ObjectMetric("block")), kBlockStepM * step,
                  testing::kFloatPlaceToleranceM);
      EXPECT_EQ(Value(evaluation, step, still, kL2Static), 0);
    }
    EXPECT_GT(Value(evaluation, step, kOracleMotion, kSsimObjects),
              Value(evaluation, step, kKinematicSubject, kSsimObjects) + 0.05);
    EXPECT_EQ(FindScore(evaluation, "left", step, kCopyLast, ObjectMetric("ghost")), nullptr);
  }
  // At the start all have the same particles, and the same distance that sampling leaves.
  EXPECT_GT(Value(evaluation, 0, kCopyLast, kChamferHalf), 0);
  EXPECT_EQ(Value(evaluation, 0, kOracleMotion, kChamferHalf),
            Value(evaluation, 0, kCopyLast, kChamferHalf));
  EXPECT_LT(Value(evaluation, 2, kOracleMotion, kChamferHalf),
            Value(evaluation, 2, kCopyLast, kChamferHalf));
  // Touched at step 2 of the episode, which is step 1 of the rollout, and let go after it.
  EXPECT_GT(Value(evaluation, 1, kCopyLast, kL2MovedTouched), 0);
  EXPECT_EQ(Value(evaluation, 1, kCopyLast, kL2MovedBefore), -1);
  EXPECT_EQ(Value(evaluation, 2, kCopyLast, kL2MovedTouched), -1);
  EXPECT_GT(Value(evaluation, 2, kCopyLast, kL2MovedAfter), 0);
  const ParticleCensus& census = evaluation.censuses.at("left");
  EXPECT_THAT(census.moved_objects, ::testing::ElementsAre("block"));
  EXPECT_GT(census.CountOf(ParticleKind::kMoved), 100);
  EXPECT_GT(census.CountOf(ParticleKind::kStatic), 100);
  EXPECT_EQ(census.CountOf(ParticleKind::kRobot), 0);
  EXPECT_GT(census.CountOf(ParticleKind::kUntracked), 100);  // those of the other camera
}

TEST_F(BaselinesTest, ARobotWithoutItsFolderIsAbsentAndSaysWhy) {
  const EpisodeEvaluation evaluation = Evaluate(Write({.is_robot = true}));
  for (const std::string_view subject : {kKinematicSubject, kContact, kOracleMotion}) {
    const ViewScore* score = FindScore(evaluation, "left", 1, subject, kSsim);
    ASSERT_NE(score, nullptr) << subject;
    EXPECT_FALSE(score->value);
    EXPECT_THAT(score->reason, HasSubstr("folder of the robot"));
    EXPECT_EQ(evaluation.Find("left", 1)->Picture(subject), nullptr);
  }
  EXPECT_GT(Value(evaluation, 1, kCopyLast, kSsim), 0);
}

TEST_F(BaselinesTest, ARobotThatDoesNotFitTheRowsIsRefused) {
  Robot other = testing::SlidingBlock();
  other.links[1].joint.name = "elbow";
  request_.robot = std::make_shared<const Robot>(std::move(other));
  const EpisodeReader episode = Write({.is_robot = true});
  metadata_ = *MetadataWithoutModel(episode.manifest(), {});
  const Status status = MakePredictionTask(episode, metadata_, request_).status();
  EXPECT_EQ(status.reason(), reason::ACTION_SHAPE);
  EXPECT_THAT(status.message(), HasSubstr("slide_m"));
}

TEST_F(BaselinesTest, WithoutARobotContactIsKinematic) {
  const EpisodeEvaluation evaluation = Evaluate(Write({}));
  for (const int step : {0, 1, 2}) {
    const EvaluatedView* view = evaluation.Find("left", step);
    EXPECT_EQ(view->Picture(kContact)->pixels, view->Picture(kKinematicSubject)->pixels) << step;
    for (const std::string_view metric : {kL2Moved, kL2Static, kDepthAbs, kSsim}) {
      EXPECT_EQ(Value(evaluation, step, kContact, metric),
                Value(evaluation, step, kKinematicSubject, metric))
          << step << metric;
    }
  }
}

TEST_F(BaselinesTest, WithoutTruthThereIsNoTrueMotion) {
  WriteSyntheticEpisode(folder_.File("plain"));
  const EpisodeEvaluation evaluation = Evaluate(*EpisodeReader::Open(folder_.File("plain")));
  EXPECT_EQ(FindScore(evaluation, "left", 1, kOracleMotion, kSsim), nullptr);
  EXPECT_EQ(FindScore(evaluation, "left", 1, kCopyLast, kL2Static), nullptr);
  EXPECT_FALSE(FindScore(evaluation, "left", 1, kCopyLast, kSsimObjects)->value);
  EXPECT_TRUE(evaluation.censuses.empty());
}

Baseline StandingStill(const CarriedPixels& pixels) {
  return {{}, std::vector<std::int32_t>(pixels.positions_m().size() / 3, kStandsStill), {}};
}

/// A wall 6 mm behind the block of step 1 on a slide along x, which goes 2 cm a step.
BodyMotion SlidingWall() {
  Robot robot;
  RobotLink wall{.name = "wall", .parent = 0, .part = LinkPart::kFinger};
  wall.joint = {.name = "slide", .type = JointType::kPrismatic, .axis = {1, 0, 0}};
  robot.links = {RobotLink{.name = "root"}, wall};
  robot.columns = {1};
  for (int y = -10; y <= 10; ++y) {
    for (int z = 1; z <= 15; ++z) {
      robot.surface.positions_m.push_back({-0.106f, 0.01f * y, 0.01f * z});
      robot.surface.normals.push_back({1, 0, 0});
      robot.surface.links.push_back(1);
    }
  }
  BodyMotion motion;
  for (int step = 1; step <= 3; ++step) motion.joints.push_back({kBlockStepM * step});
  motion.start = LinkPoses(robot, motion.joints[0]);
  for (const std::size_t row : {1, 2}) motion.later.push_back(LinkPoses(robot, motion.joints[row]));
  motion.link_count = robot.links.size();
  motion.robot = std::make_shared<const Robot>(std::move(robot));
  return motion;
}

TEST_F(BaselinesTest, PixelsOfWhatIsTouchedGoWithIt) {
  request_.step_count = 2;
  const EpisodeReader episode = Write({});
  metadata_ = *MetadataWithoutModel(episode.manifest(), {});
  const PredictionTask task = *MakePredictionTask(episode, metadata_, request_);
  const CarriedPixels pixels = *CarriedPixels::Make(task);
  const std::vector<float> particles_m = Must(DrawnParticles(task, metadata_));
  const ContactMotion contact = FollowContacts(SlidingWall(), particles_m);
  ASSERT_EQ(contact.motion.start.size(), 3u);
  const Baseline baseline = ContactBaseline(contact, particles_m, pixels);
  std::size_t of_block = 0;
  for (std::size_t i = 0; i < baseline.pixel_bodies.size(); ++i) {
    const float* p = pixels.positions_m().data() + 3 * i;
    const bool is_near = std::hypot(p[0], p[1]) < 0.2;
    // Of what is hardly above the table either is right.
    const bool is_of_block = is_near && p[2] > 0.02f;
    if (is_of_block) ++of_block;
    if (!is_of_block && !(p[2] < 0.0004f)) continue;
    EXPECT_EQ(baseline.pixel_bodies[i], is_of_block ? 2 : kStandsStill) << i;
  }
  EXPECT_GT(of_block, 100u);

  const TrueFrame truth = **ReadTrueFrame(episode, task, task.targets[0], 2);
  const auto error = [&](const Baseline& what, int step) {
    const auto picture = Must(pixels.Draw(truth.camera, what, step, task));
    int sum = 0;
    for (std::size_t i = 0; i < picture.color.pixels.size(); ++i) {
      sum += std::abs(picture.color.pixels[i] - truth.color.pixels[i]);
    }
    return sum;
  };
  EXPECT_LT(error(baseline, 2), 0.5 * error(StandingStill(pixels), 0));
}

TEST_F(BaselinesTest, WhatLiesOutsideIsWhiteInEveryCamera) {
  const EpisodeReader episode = Write({});
  metadata_ = *MetadataWithoutModel(episode.manifest(), {});
  PredictionTask task = *MakePredictionTask(episode, metadata_, request_);
  task.region.workspace.max_m[2] = 0.1f;  // cuts the block's top off
  const CarriedPixels pixels = *CarriedPixels::Make(task);
  const auto own = Must(pixels.Draw(SyntheticCamera(true), StandingStill(pixels), 0, task));
  EXPECT_EQ(own.color.pixels, (*ReadTrueFrame(episode, task, task.targets[0], 0))->color.pixels);

  Camera other = SyntheticCamera(true);
  other.world_from_camera.translation_m[0] += 0.02;
  const auto free = pixels.Draw(other, StandingStill(pixels), 0, task);
  const ProjectedPixel top = Project(other, {0.02, 0, 0.15});
  const auto at = static_cast<std::size_t>(std::lround(top.v_px)) * other.width_px +
                  static_cast<std::size_t>(std::lround(top.u_px));
  EXPECT_EQ(free->color.pixels[3 * at], 255);
  EXPECT_NEAR(free->depth.pixels_m[at], top.depth_m, 0.01);
  task.paint_outside_white = false;
  EXPECT_EQ(pixels.Draw(other, StandingStill(pixels), 0, task)->color.pixels[3 * at], 40);
}

TEST_F(BaselinesTest, ReachedAreThePixelsThatShowWhatWasSeen) {
  const EpisodeReader episode = Write({});
  metadata_ = *MetadataWithoutModel(episode.manifest(), {});
  PredictionTask task = *MakePredictionTask(episode, metadata_, request_);
  const CarriedPixels pixels = *CarriedPixels::Make(task);
  Camera between = SyntheticCamera(true);
  between.world_from_camera.translation_m[0] += 0.03;
  const auto reached_at = [&](const Vec3d& point_m) {
    const auto reached = pixels.Reached(between, task);
    INTERLACER_CHECK(reached.ok(), reached.status().ToString());
    const ProjectedPixel at = Project(between, point_m);
    return int{(*reached)[static_cast<std::size_t>(std::lround(at.v_px)) * between.width_px +
                          static_cast<std::size_t>(std::lround(at.u_px))]};
  };
  const Vec3d top_m = {0.02, 0, 0.15}, table_m = {0.35, 0, 0};
  EXPECT_EQ(reached_at(top_m), 1);
  EXPECT_EQ(reached_at(table_m), 1);
  task.region.workspace.max_m[2] = 0.1f;  // cuts the block's top off
  EXPECT_EQ(reached_at(top_m), 0);
  EXPECT_EQ(reached_at(table_m), 1);

  // Where no camera looked nothing arrives.
  between.world_from_camera.translation_m[0] += 5;
  const auto nothing = Must(pixels.Reached(between, task));
  EXPECT_EQ(std::count(nothing.begin(), nothing.end(), 1), 0);
}

TEST_F(BaselinesTest, SmallPicturesAreMadeOfPixelsOfTheirSize) {
  const EpisodeReader episode = Write({});
  metadata_ = *MetadataWithoutModel(episode.manifest(), {});
  for (CameraSpec& camera : metadata_.cameras) {
    camera.width_px /= 2;
    camera.height_px /= 2;
  }
  const PredictionTask task = *MakePredictionTask(episode, metadata_, request_);
  const CarriedPixels pixels = *CarriedPixels::Make(task);
  const TrueFrame truth = **ReadTrueFrame(episode, task, task.targets[0], 0);
  const auto own = Must(pixels.Draw(truth.camera, StandingStill(pixels), 0, task));
  EXPECT_EQ(own.color.pixels, truth.color.pixels);
}

TEST_F(BaselinesTest, ParticlesAreFollowedWhateverTheSizeOfThePictures) {
  const EpisodeReader episode = Write({});
  const EpisodeEvaluation whole = Evaluate(episode);
  request_.picture_size = {PictureSize::Of::kGiven, 40, 30};
  const EpisodeEvaluation small = Evaluate(episode);
  EXPECT_EQ(small.Find("left", 1)->truth->width_px, 40);
  EXPECT_GT(Value(whole, 2, kCopyLast, kL2Moved), 0);
  for (const std::string_view metric : {kL2Moved, kL2Static}) {
    EXPECT_EQ(Value(small, 2, kCopyLast, metric), Value(whole, 2, kCopyLast, metric)) << metric;
  }
}

TEST_F(BaselinesTest, DepthIsKnownWhereThingsLandAndAroundThem) {
  const EpisodeReader episode = Write({});
  metadata_ = *MetadataWithoutModel(episode.manifest(), {});
  const PredictionTask task = *MakePredictionTask(episode, metadata_, request_);
  const CarriedPixels pixels = *CarriedPixels::Make(task);
  Camera other = SyntheticCamera(true);
  other.world_from_camera.translation_m[1] += 0.1;  // uncovers what no camera saw
  const auto picture = Must(pixels.Draw(other, StandingStill(pixels), 0, task));
  for (const float z_m : picture.depth.pixels_m) EXPECT_TRUE(std::isfinite(z_m));
}

TEST(MetadataWithoutModel, TakesNamedCamerasOrTheFirstTwo) {
  const EpisodeManifest manifest = SyntheticManifest();
  const auto first = MetadataWithoutModel(manifest, {});
  ASSERT_EQ(first->cameras.size(), 2u);
  EXPECT_EQ(first->cameras[1].name, "right");
  EXPECT_EQ(first->cameras[0].width_px, 80);
  const std::vector<std::string> right{"right"}, nowhere{"nowhere"};
  EXPECT_EQ(MetadataWithoutModel(manifest, right)->cameras.size(), 1u);
  EXPECT_EQ(MetadataWithoutModel(manifest, nowhere).status().reason(), reason::CAMERA_UNKNOWN);
}

}  // namespace
}  // namespace interlacer
