/// The torch-free door with a tiny untrained model: lift, roll out, render, refuse.

#include "model/predictor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "model/files/checkpoint.h"
#include "model/lifting/lifted_scene.h"
#include "tests/model/plane_scene.h"
#include "tests/model/tiny_scene.h"
#include "tests/robots/small_robot.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/painted_plane.h"
#include "tests/support/tiny_model.h"

namespace interlacer::testing {
namespace {

constexpr int kSteps = 3;

class PredictorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = ::testing::TempDir() + "predictor_checkpoint_" + std::to_string(getpid());
    const auto model = MakeMovingModel(TinyConfig(), {}, 1);
    ASSERT_TRUE(SaveCheckpoint(dir_, *model, {{"trained_step_count", "6"}}).ok());
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(dir_); }

  void SetUp() override { predictor_ = Must(Predictor::Load(dir_, {"tiny", DeviceRequest::kCpu})); }

  std::unique_ptr<Rollout> Begin(const SceneInput& input, const ActionSequence& actions) {
    auto scene = Must(predictor_->Lift(input));
    return Must(predictor_->Begin(scene, actions));
  }

  Particles RunToEnd(const SceneInput& input, const ActionSequence& actions) {
    auto rollout = Begin(input, actions);
    for (int step = 1; step <= kSteps; ++step) {
      const Status status = rollout->Step();
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    return **rollout->ReadParticles();
  }

  static std::string dir_;
  std::unique_ptr<Predictor> predictor_;
};
std::string PredictorTest::dir_;

SceneInput SceneFrom(int first_step) {
  SceneInput input = MakeScene();
  input.observations.clear();
  for (int step = first_step; step < first_step + 2; ++step) {
    // The plane is seen from further on at each step.
    input.observations.push_back({{ViewOfPlane("left", step, step * kStepNs),
                                   ViewOfPlane("right", step + 2, step * kStepNs)}});
  }
  input.history_actions = Joints(first_step, 2);
  return input;
}

/// Bytes are those of both observations, of which the older one is not encoded again.
TEST_F(PredictorTest, TheNextSceneHasTheBytesOfItsFrames) {
  for (const bool is_drawn : {true, false}) {
    InterlacerConfig config = TinyConfig();
    if (!is_drawn) config.data.particle_count = 64 * 48 * 2;
    const auto model = MakeMovingModel(config, {}, 1);
    const std::string dir = dir_ + (is_drawn ? "_drawn" : "_whole");
    ASSERT_TRUE(SaveCheckpoint(dir, *model, {}).ok());
    const auto predictor = *Predictor::Load(dir, {"tiny", DeviceRequest::kCpu});
    std::filesystem::remove_all(dir);
    const auto before = *predictor->Lift(SceneFrom(0));
    const auto of_frames = *predictor->Lift(SceneFrom(1));
    const auto next = *predictor->LiftNext(SceneFrom(1), *before);
    EXPECT_EQ(static_cast<const LiftedScene&>(*next).older_links,
              static_cast<const LiftedScene&>(*of_frames).older_links);
    std::vector<std::vector<float>> ends_m;
    for (const auto& scene : {of_frames, next}) {
      const auto rollout = *predictor->Begin(scene, Joints(3, kSteps));
      for (int step = 0; step < kSteps; ++step) ASSERT_TRUE(rollout->Step().ok());
      ends_m.push_back((*rollout->ReadParticles())->positions_m);
    }
    EXPECT_TRUE(ends_m[0] == ends_m[1]);
    EXPECT_FALSE(ends_m[0].empty());
    EXPECT_EQ(next->report().candidate_point_count, of_frames->report().candidate_point_count);
    static_cast<const LiftedScene&>(*before).newest_encoded.zero_();
    const auto marked = *predictor->LiftNext(SceneFrom(1), *before);
    EXPECT_EQ(static_cast<const LiftedScene&>(*marked).older.features.count_nonzero().item<int>(),
              0);
    EXPECT_GT(static_cast<const LiftedScene&>(*marked).newer.features.count_nonzero().item<int>(),
              0);
  }
}

TEST_F(PredictorTest, Metadata) {
  const ModelMetadata& metadata = predictor_->metadata();
  EXPECT_EQ(metadata.model_name, "tiny");
  EXPECT_EQ(metadata.particle_count, 256);
  EXPECT_EQ(metadata.trained_step_count, 6);
  EXPECT_FALSE(metadata.accepts_joint_positions) << "the checkpoint has no robot folder";
  EXPECT_EQ(metadata.weights_sha256.size(), 64u);
  EXPECT_EQ(predictor_->device_name(), "cpu");
}

TEST_F(PredictorTest, StepZeroIsTheReconstruction) {
  const SceneInput input = MakeScene();
  auto scene = Must(predictor_->Lift(input));
  EXPECT_EQ(scene->report().cameras.size(), 2u);
  EXPECT_GT(scene->report().candidate_point_count, 256);
  const auto rollout = *predictor_->Begin(scene, Joints(2, kSteps));
  EXPECT_EQ(rollout->step(), 0);
  const Particles& particles = **rollout->ReadParticles();
  ASSERT_EQ(particles.count, 256);
  EXPECT_EQ(rollout->particle_count(), 256);
  EXPECT_EQ(particles.colors_rgb8.size(), 3u * 256);
  for (std::int64_t i = 0; i < particles.count; ++i) {
    const float* p = &particles.positions_m[3 * i];
    EXPECT_NEAR(p[2], 0, 1e-3);
    const auto color = PlaneColor(p[0], p[1]);
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(particles.colors_rgb8[3 * i + c], color[c], 2);
  }
}

TEST_F(PredictorTest, ASpreadStandsBesideThePredictionAndDoesNotChangeIt) {
  const SceneInput input = MakeScene();
  const auto rollout = Begin(input, Joints(2, kSteps));
  ASSERT_TRUE(rollout->MeasureSpread().ok());
  const Particles start = **rollout->ReadParticles();
  EXPECT_EQ(start.spread_m, std::vector<float>(256, 0));
  float before_m = 0;
  for (int step = 1; step <= kSteps; ++step) {
    ASSERT_TRUE(rollout->Step().ok());
    const std::vector<float>& spread_m = (*rollout->ReadParticles())->spread_m;
    ASSERT_EQ(spread_m.size(), 256u);
    const float mean_m = std::accumulate(spread_m.begin(), spread_m.end(), 0.f) / 256;
    // Untrained weights know nothing of directions, and what they do not know adds up.
    EXPECT_GT(mean_m, before_m);
    before_m = mean_m;
  }
  const Particles plain = RunToEnd(input, Joints(2, kSteps));
  EXPECT_EQ((*rollout->ReadParticles())->positions_m, plain.positions_m);
  EXPECT_TRUE(plain.spread_m.empty());
}

TEST_F(PredictorTest, ASpreadIsAskedForBeforeTheFirstStep) {
  const auto rollout = Begin(MakeScene(), Joints(2, kSteps));
  ASSERT_TRUE(rollout->Step().ok());
  EXPECT_EQ(rollout->MeasureSpread().reason(), reason::STEP_INVALID);
}

TEST_F(PredictorTest, WhatMovesByTheRobotAloneIsCertain) {
  auto exact = Must(Predictor::Load(dir_, {"tiny", DeviceRequest::kCpu, RobotMotion::kKinematic}));
  SceneInput input = MakeScene();
  input.history_actions = {};
  auto rollout = *exact->Begin(*exact->Lift(input), {});
  ASSERT_TRUE(rollout->MeasureSpread().ok());
  ASSERT_TRUE(rollout->Step().ok());
  EXPECT_EQ((*rollout->ReadParticles())->spread_m, std::vector<float>(256, 0));
}

TEST_F(PredictorTest, TheMotionMatters) {
  EXPECT_NE(RunToEnd(MakeScene(), Joints(2, kSteps)).positions_m,
            RunToEnd(MakeScene(), Joints(-3, kSteps)).positions_m);
}

TEST_F(PredictorTest, SameSeedSameBytesOtherSeedOthers) {
  SceneInput input = MakeScene();
  const ActionSequence motion = Joints(2, kSteps);
  const auto first = RunToEnd(input, motion).positions_m;
  EXPECT_EQ(first, RunToEnd(input, motion).positions_m);
  input.seed = 10;
  EXPECT_NE(first, RunToEnd(input, motion).positions_m);
}

TEST_F(PredictorTest, StaticSceneNeedsNoActions) {
  SceneInput input = MakeScene();
  input.history_actions = {};
  input.observations[0] = input.observations[1];
  EXPECT_EQ(RunToEnd(input, {}).count, 256);
}

struct View {
  FloatImage color;
  DepthImage depth;
};

/// Rows [begin,end) of a view.
View Draw(const Rollout& rollout, const Camera& camera, int begin, int end, RenderMode mode) {
  View view;
  const Status status =
      rollout.RenderRows(camera, begin, end, mode, true, &view.color, &view.depth);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return view;
}

/// `part` is the rows of `whole`, 64 pixels wide, from `begin` on.
void ExpectRows(const View& part, const View& whole, int begin) {
  EXPECT_TRUE(std::equal(part.color.pixels.begin(), part.color.pixels.end(),
                         whole.color.pixels.begin() + begin * 64 * 3));
  EXPECT_TRUE(std::equal(part.depth.pixels_m.begin(), part.depth.pixels_m.end(),
                         whole.depth.pixels_m.begin() + begin * 64));
}

TEST_F(PredictorTest, RowsOfAViewJoinToTheWhole) {
  const auto rollout = Begin(MakeScene(), Joints(2, kSteps));
  ASSERT_TRUE(rollout->Step().ok());
  const Camera camera = *rollout->SceneCamera("right");
  EXPECT_EQ(rollout->SceneCamera("top").status().reason(), "CAMERA_UNKNOWN");
  const View whole = Draw(*rollout, camera, 0, 48, RenderMode::kField);
  View part = Draw(*rollout, camera, 17, 30, RenderMode::kField);
  ASSERT_EQ(part.color.height_px, 13);
  ExpectRows(part, whole, 17);
  for (const float value : whole.color.pixels) ASSERT_TRUE(value >= 0 && value <= 1);
  EXPECT_FALSE(
      rollout->RenderRows(camera, 40, 49, RenderMode::kField, true, &part.color, &part.depth).ok());
  // Whatever the pictures held before.
  ASSERT_TRUE(
      rollout->RenderRows(camera, 0, 4, RenderMode::kField, true, &part.color, &part.depth).ok());
  ASSERT_EQ(part.color.height_px, 4);
  ExpectRows(part, whole, 0);
}

/// A view in tiles of so many rows each, joined.
View DrawInTiles(const Rollout& rollout, const Camera& camera, RenderMode mode, int tile_rows) {
  View view{{camera.width_px, camera.height_px, 3, {}}, {camera.width_px, camera.height_px, {}}};
  auto& [color, depth] = view;
  for (int row = 0; row < camera.height_px; row += tile_rows) {
    const View tile = Draw(rollout, camera, row, std::min(row + tile_rows, camera.height_px), mode);
    color.pixels.insert(color.pixels.end(), tile.color.pixels.begin(), tile.color.pixels.end());
    depth.pixels_m.insert(depth.pixels_m.end(), tile.depth.pixels_m.begin(),
                          tile.depth.pixels_m.end());
  }
  return view;
}

/// Tiles are as large as time allows, so that bytes must not depend on them. The camera is a
/// scene's and moved, so that its view has observed pixels and holes; 48 rows are no multiple of 5.
TEST_F(PredictorTest, TilesOfAnySizeJoinToTheSameBytes) {
  const auto rollout = Begin(MakeScene(), Joints(2, kSteps));
  ASSERT_TRUE(rollout->Step().ok());
  Camera camera = *rollout->SceneCamera("right");
  camera.world_from_camera.translation_m[0] += 0.05;
  for (const RenderMode mode : {RenderMode::kField, RenderMode::kObserved}) {
    const auto [whole, whole_depth] = DrawInTiles(*rollout, camera, mode, camera.height_px);
    ASSERT_EQ(whole.pixels.size(), 48u * 64 * 3);
    for (const int tile_rows : {1, 2, 5}) {
      const auto [joined, joined_depth] = DrawInTiles(*rollout, camera, mode, tile_rows);
      EXPECT_EQ(std::memcmp(joined.pixels.data(), whole.pixels.data(), 4 * whole.pixels.size()), 0)
          << tile_rows;
      ASSERT_EQ(joined_depth.pixels_m.size(), 48u * 64);
      EXPECT_EQ(std::memcmp(joined_depth.pixels_m.data(), whole_depth.pixels_m.data(),
                            4 * whole_depth.pixels_m.size()),
                0)
          << tile_rows;
    }
  }
}

TEST_F(PredictorTest, StepZeroOfObservedPixelsIsTheRecordedFrame) {
  SceneInput input = MakeScene();
  input.workspace = Box{{-2, -2, -1}, {2, 2, 2}};
  const auto rollout = Begin(input, Joints(2, kSteps));
  for (const RgbdView& view : input.observations[1].views) {
    const auto [color, depth] =
        Draw(*rollout, *rollout->SceneCamera(view.camera_name), 0, 48, RenderMode::kObserved);
    EXPECT_EQ(QuantizeRgb(color).pixels, view.color.pixels);
    EXPECT_EQ(depth.pixels_m, view.depth.pixels_m);
  }
  const View field = Draw(*rollout, *rollout->SceneCamera("left"), 0, 48, RenderMode::kField);
  EXPECT_NE(QuantizeRgb(field.color).pixels, input.observations[1].views[0].color.pixels);
}

TEST_F(PredictorTest, HolesOfObservedPixelsAreTheFields) {
  SceneInput input = MakeScene();
  for (int pixel = 20 * 64; pixel < 24 * 64; ++pixel) {
    for (RgbdView& view : input.observations[1].views) {
      view.depth.pixels_m[pixel] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  const auto rollout = Begin(input, Joints(2, kSteps));
  Camera camera = *rollout->SceneCamera("left");
  camera.world_from_camera.translation_m[2] += 5;  // looks past everything observed
  View observed = Draw(*rollout, camera, 0, 8, RenderMode::kObserved);
  View field = Draw(*rollout, camera, 0, 8, RenderMode::kField);
  EXPECT_EQ(observed.color.pixels, field.color.pixels);
  EXPECT_EQ(observed.depth.pixels_m, field.depth.pixels_m);
  // In their own camera pixels without depth keep their colour and take the field's depth.
  camera = *rollout->SceneCamera("left");
  observed = Draw(*rollout, camera, 20, 24, RenderMode::kObserved);
  field = Draw(*rollout, camera, 20, 24, RenderMode::kField);
  EXPECT_EQ(observed.depth.pixels_m, field.depth.pixels_m);
  const std::vector<std::uint8_t>& recorded = input.observations[1].views[0].color.pixels;
  EXPECT_TRUE(std::equal(recorded.begin() + 20 * 64 * 3, recorded.begin() + 24 * 64 * 3,
                         QuantizeRgb(observed.color).pixels.begin()));
}

TEST_F(PredictorTest, RowsOfAnObservedViewJoinToTheWholeInAnyOrder) {
  const auto rollout = Begin(MakeScene(), Joints(2, kSteps));
  const Camera left = *rollout->SceneCamera("left"), right = *rollout->SceneCamera("right");
  View part;
  for (int step = 0; step < 2; ++step) {
    const View whole = Draw(*rollout, right, 0, 48, RenderMode::kObserved);
    Draw(*rollout, left, 3, 9, RenderMode::kObserved);
    part = Draw(*rollout, right, 17, 30, RenderMode::kObserved);
    ASSERT_EQ(part.color.height_px, 13);
    ExpectRows(part, whole, 17);
    for (const float depth_m : whole.depth.pixels_m) ASSERT_TRUE(std::isfinite(depth_m));
    ASSERT_TRUE(rollout->Step().ok());
  }
  EXPECT_EQ(
      rollout->RenderRows(right, 40, 49, RenderMode::kObserved, true, &part.color, &part.depth)
          .reason(),
      reason::RENDER_TARGET_INVALID);
}

TEST_F(PredictorTest, RolloutsOfOneSceneShareItsObservedPixels) {
  const auto scene = *predictor_->Lift(MakeScene());
  const auto first = *predictor_->Begin(scene, Joints(2, kSteps));
  const auto second = *predictor_->Begin(scene, Joints(2, kSteps));
  // The second makes them when it is a step ahead; they are those of step 0 all the same.
  ASSERT_TRUE(second->Step().ok());
  const auto observed = [](const Rollout& rollout) {
    return Draw(rollout, *rollout.SceneCamera("left"), 0, 48, RenderMode::kObserved).color.pixels;
  };
  const auto late = observed(*second);
  ASSERT_TRUE(first->Step().ok());
  EXPECT_EQ(late, observed(*first));
}

/// Views of both cameras at steps 0 to `steps`, observed.
std::vector<RgbImage> ObservedRollout(Rollout* rollout, int steps) {
  std::vector<RgbImage> pictures;
  for (int step = 0; step <= steps; ++step) {
    if (step > 0) {
      EXPECT_TRUE(rollout->Step().ok());
    }
    for (const char* const camera : {"left", "right"}) {
      pictures.push_back(QuantizeRgb(
          Draw(*rollout, *rollout->SceneCamera(camera), 0, 48, RenderMode::kObserved).color));
    }
  }
  return pictures;
}

int CountDifferent(const RgbImage& a, const RgbImage& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.pixels.size(); i += 3) {
    count += !std::equal(&a.pixels[i], &a.pixels[i] + 3, &b.pixels[i]);
  }
  return count;
}

/// A robot whose arm lies on the plane.
std::shared_ptr<const Robot> RobotOnThePlane() {
  Robot robot = SmallRobot();
  robot.links[0].joint.parent_from_joint.translation_m = {0.05, 0, 0};
  robot.links[1].joint.parent_from_joint.translation_m = {0, 0, -0.03};
  return std::make_shared<const Robot>(std::move(robot));
}

TEST_F(PredictorTest, ARolloutOfTheRobotAloneMovesItsPixelsAlone) {
  SceneInput input = MakeScene();
  input.robot = RobotOnThePlane();
  input.history_actions = {ActionKind::kJointPositions, 2, 3, std::vector<float>(6, 0)};
  const auto scene = Must(predictor_->Lift(input));
  const ActionSequence still{ActionKind::kJointPositions, 2, 3, std::vector<float>(6, 0)};
  ActionSequence turning = still;
  turning.values[0] = turning.values[3] = 0.4f;
  const auto begin = [&](const ActionSequence& actions) {
    return Must(predictor_->Begin(scene, actions, MotionSource::kRobotOnly));
  };
  const std::vector<RgbImage> stands = ObservedRollout(begin(still).get(), 2);
  const std::vector<RgbImage> turns = ObservedRollout(begin(turning).get(), 2);
  for (std::size_t i = 0; i < stands.size(); ++i) {
    EXPECT_EQ(stands[i].pixels, stands[i % 2].pixels);
    const int changed = CountDifferent(turns[i], stands[i]);
    EXPECT_EQ(changed > 0, i >= 2) << i;
    EXPECT_LT(changed, 100) << i;
  }
  EXPECT_EQ(turns[2].pixels, turns[4].pixels);  // it has turned and stays
}

TEST_F(PredictorTest, AStillSceneWithExactRobotMotionIsItsFramesAtEveryStep) {
  predictor_ = Must(Predictor::Load(dir_, {"tiny", DeviceRequest::kCpu, RobotMotion::kKinematic}));
  SceneInput input = MakeScene();
  input.workspace = Box{{-2, -2, -1}, {2, 2, 2}};
  input.history_actions = {};
  const std::vector<RgbImage> pictures = ObservedRollout(Begin(input, {}).get(), 3);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    EXPECT_EQ(pictures[i].pixels, input.observations[1].views[i % 2].color.pixels);
  }
}

TEST_F(PredictorTest, ASmallerImageIsResampledAndSaid) {
  SceneInput input = MakeScene();
  const PaintedPlane plane{32, 24, 2, 0.0001};
  for (Observation& observation : input.observations) {
    RgbdView& view = observation.views[0];
    DepthImage16 depth;
    view.camera = PlaneCamera(plane, 0);
    RenderPlane(plane, view.camera, &view.color, &depth);
    view.depth = DepthToMeters(depth);
  }
  const auto scene = Must(predictor_->Lift(input));
  bool found = false;
  for (const Finding& finding : scene->report().findings) {
    found = found || finding.reason == "IMAGE_RESAMPLED";
  }
  EXPECT_TRUE(found);
}

TEST_F(PredictorTest, FindingsNameTheObservation) {
  SceneInput input = MakeScene();
  ASSERT_EQ(input.observations[1].views.size(), 2u);
  input.observations[1].views[1].capture_time_ns += 30'000'000;
  const auto scene = Must(predictor_->Lift(input));
  const std::vector<Finding>& findings = scene->report().findings;
  const auto skew = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.reason == "CAMERA_SKEW_HIGH";
  });
  ASSERT_NE(skew, findings.end());
  EXPECT_EQ(skew->field, "observations[1].views");
}

TEST_F(PredictorTest, RunningOutOfActionsIsAnError) {
  auto rollout = Begin(MakeScene(), Joints(2, 1));
  ASSERT_TRUE(rollout->Step().ok());
  const Status status = rollout->Step();
  EXPECT_EQ(status.reason(), "ACTION_SHAPE") << status.ToString();
  EXPECT_EQ(rollout->step(), 1);
}

struct BadScene {
  const char* name;
  std::function<void(SceneInput*)> spoil;
  const char* reason;
  const char* field;
};

class RefusedScenes : public PredictorTest, public ::testing::WithParamInterface<BadScene> {};

TEST_P(RefusedScenes, NameReasonAndField) {
  SceneInput input = MakeScene();
  GetParam().spoil(&input);
  const Status scene = predictor_->Lift(input).status();
  EXPECT_EQ(scene.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(scene.reason(), GetParam().reason) << scene.ToString();
  EXPECT_THAT(scene.field(), HasSubstr(GetParam().field));
}

RgbdView& NewestLeft(SceneInput* input) { return input->observations[1].views[0]; }

INSTANTIATE_TEST_SUITE_P(
    All, RefusedScenes,
    ::testing::Values(
        BadScene{"OneObservation", [](SceneInput* s) { s->observations.pop_back(); },
                 "HISTORY_LENGTH", "observations"},
        BadScene{"Spacing", [](SceneInput* s) { NewestLeft(s).capture_time_ns = 2 * kStepNs; },
                 "HISTORY_SPACING", "observations[1]"},
        BadScene{"CameraUnknown", [](SceneInput* s) { NewestLeft(s).camera_name = "top"; },
                 "CAMERA_UNKNOWN", "observations[1].views[0]"},
        BadScene{"CameraTwice", [](SceneInput* s) { NewestLeft(s).camera_name = "right"; },
                 "CAMERA_DUPLICATE", "observations[1].views[1]"},
        BadScene{"CameraMissing", [](SceneInput* s) { s->observations[1].views.pop_back(); },
                 "CAMERA_MISSING", "observations[1]"},
        BadScene{"FocalLength", [](SceneInput* s) { NewestLeft(s).camera.fx_px = 0; },
                 "CALIBRATION_INVALID", "observations[1].views[0]"},
        BadScene{"Quaternion",
                 [](SceneInput* s) {
                   NewestLeft(s).camera.world_from_camera.rotation_xyzw = {0, 0, 0, 2};
                 },
                 "QUATERNION_NOT_UNIT", "observations[1].views[0]"},
        BadScene{"DepthSize", [](SceneInput* s) { NewestLeft(s).depth.width_px = 65; },
                 "IMAGE_SIZE_MISMATCH", "observations[1].views[0].depth"},
        BadScene{"ColorLength", [](SceneInput* s) { NewestLeft(s).color.pixels.pop_back(); },
                 "IMAGE_DATA_LENGTH", "observations[1].views[0].color"},
        BadScene{"Millimetres",
                 [](SceneInput* s) {
                   for (float& depth_m : NewestLeft(s).depth.pixels_m) depth_m *= 1000;
                 },
                 "DEPTH_IMPLAUSIBLE", "observations[1].views[0].depth"},
        BadScene{"NoDepth",
                 [](SceneInput* s) {
                   for (RgbdView& view : s->observations[1].views) {
                     view.depth.pixels_m.assign(view.depth.pixels_m.size(),
                                                std::numeric_limits<float>::quiet_NaN());
                   }
                 },
                 "TOO_FEW_VALID_POINTS", "observations[1]"},
        BadScene{"Workspace",
                 [](SceneInput* s) {
                   s->workspace = Box{{1, 1, 1}, {0, 0, 0}};
                 },
                 "WORKSPACE_INVALID", "workspace.x"},
        BadScene{"Range", [](SceneInput* s) { s->near_m = 3; }, "DEPTH_RANGE_INVALID", "near_m"},
        BadScene{"RangeOfOneFloat",
                 [](SceneInput* s) {
                   s->near_m = 20 - 9e-7;
                   s->far_m = 20 + 9e-7;
                 },
                 "DEPTH_RANGE_INVALID", "far_m"},
        BadScene{"HistoryRows", [](SceneInput* s) { s->history_actions = Joints(0, 1); },
                 "ACTION_SHAPE", "history_actions"},
        BadScene{"Columns", [](SceneInput* s) { s->history_actions.column_count = 15; },
                 "ACTION_SHAPE", "history_actions"},
        BadScene{"NotANumber",
                 [](SceneInput* s) {
                   s->history_actions.values[3] = std::numeric_limits<float>::quiet_NaN();
                 },
                 "ACTION_NOT_FINITE", "history_actions.values[3]"},
        BadScene{"Degrees", [](SceneInput* s) { s->history_actions.values[17] = 45; },
                 "ACTION_OUT_OF_RANGE", "history_actions.values[17]"}),
    [](const auto& test) { return test.param.name; });

// fm-23
TEST_F(PredictorTest, CudaIsStrictAndAutoSaysThatItFellBack) {
  const Status strict = Predictor::Load(dir_, {"tiny", DeviceRequest::kCuda}).status();
  EXPECT_EQ(strict.reason(), reason::DEVICE_ABSENT);
  EXPECT_THAT(strict.message(), HasSubstr("no CUDA device"));
  const auto fallback = Must(Predictor::Load(dir_, {"tiny", DeviceRequest::kAuto}));
  EXPECT_EQ(fallback->device_name(), "cpu");
  EXPECT_TRUE(fallback->is_device_fallback());
  EXPECT_FALSE(predictor_->is_device_fallback());
}

/// The tiny model with another configuration, from a folder of its own.
class ConfiguredPredictor : public ::testing::Test {
 protected:
  ~ConfiguredPredictor() override { std::filesystem::remove_all(dir_); }
  std::unique_ptr<Predictor> Load(const InterlacerConfig& config) {
    const auto model = MakeMovingModel(config, {}, 1);
    EXPECT_TRUE(SaveCheckpoint(dir_, *model, {}).ok());
    return Must(Predictor::Load(dir_, {"tiny", DeviceRequest::kCpu}));
  }
  const std::string dir_ =
      ::testing::TempDir() + "configured_checkpoint_" + std::to_string(getpid());
};

TEST_F(ConfiguredPredictor, ServesWithEveryGraphIndex) {
  for (const KnnBackend index :
       {KnnBackend::kGrid, KnnBackend::kFaissFlat, KnnBackend::kFaissIvf}) {
    if (!KnnBackendAvailable(index)) continue;
    SCOPED_TRACE(KnnBackendName(index));
    InterlacerConfig config = TinyConfig();
    config.graph.index = index;
    const auto predictor = Load(config);
    const auto rollout = *predictor->Begin(*predictor->Lift(MakeScene()), Joints(2, 1));
    const std::vector<float> before = (*rollout->ReadParticles())->positions_m;
    const Status stepped = rollout->Step();
    ASSERT_TRUE(stepped.ok()) << stepped.ToString();
    const std::vector<float>& after = (*rollout->ReadParticles())->positions_m;
    EXPECT_NE(after, before);
    EXPECT_TRUE(std::all_of(after.begin(), after.end(), [](float x) { return std::isfinite(x); }));
  }
}

TEST_F(ConfiguredPredictor, LeavesFlyingPixelsOut) {
  if (!OutlierFilterAvailable()) GTEST_SKIP() << "built without Open3D";
  SceneInput input = MakeScene();
  for (Observation& observation : input.observations) {
    std::vector<float>& depth_m = observation.views[0].depth.pixels_m;
    for (std::size_t i = 100; i < depth_m.size(); i += 300) depth_m[i] *= 0.7f;  // above the plane
  }
  const auto flying_particles = [&](const Predictor& predictor, const Scene& scene) {
    const auto& particles = dynamic_cast<const LiftedScene&>(scene).newer.positions_m;
    EXPECT_EQ(particles.size(0), predictor.metadata().particle_count);
    return particles.select(1, 2).gt(0.05).sum().item<std::int64_t>();
  };
  const auto drops = [](const Scene& scene) {
    const auto& findings = scene.report().findings;
    return std::count_if(findings.begin(), findings.end(),
                         [](const Finding& f) { return f.reason == "OUTLIERS_DROPPED"; });
  };
  InterlacerConfig config = TinyConfig();
  config.data.particle_count = 4096;
  const auto plain = Load(config);
  const auto unfiltered = *plain->Lift(input);
  EXPECT_GT(flying_particles(*plain, *unfiltered), 0);
  EXPECT_EQ(drops(*unfiltered), 0);

  config.lifting.outlier_filter.emplace();
  const auto filtering = Load(config);
  const auto filtered = *filtering->Lift(input);
  EXPECT_EQ(flying_particles(*filtering, *filtered), 0);
  EXPECT_EQ(drops(*filtered), 1);
}

TEST(PredictorLoadTest, AbsentCheckpoint) {
  EXPECT_EQ(Predictor::Load("/nonexistent/checkpoint", {}).status().reason(), "FILE_NOT_FOUND");
}

}  // namespace
}  // namespace interlacer::testing
