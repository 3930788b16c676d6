/// The first run of a model: what it measures, what it compares, when it stops.

#include "server/models/warm_up.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include "common/transforms.h"
#include "tests/server/still_predictor.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

constexpr float kBrokenValue = std::numeric_limits<float>::quiet_NaN();

WarmUpResult TwoParticles() {
  WarmUpResult result;
  for (const float x : {1.0f, 2.0f}) {
    Particles particles;
    particles.count = 2;
    particles.positions_m = {x, 0, 0, x, 1, 0};
    result.steps.push_back(particles);
  }
  return result;
}

WarmUpScene Expecting(std::vector<WarmUpSample> samples, int max_outlier_count = 0) {
  WarmUpScene scene;
  scene.expected = std::move(samples);
  scene.tolerance_m = 0.01;
  scene.max_outlier_count = max_outlier_count;
  return scene;
}

TEST(WarmUp, WithoutAStoredSceneAPlaneInsideTheWorkspaceIsUsed) {
  FakePredictor predictor;
  auto scene =
      Must(ReadWarmUpScene(::testing::TempDir() + "/no_such_checkpoint", predictor.metadata()));
  EXPECT_TRUE(scene.expected.empty());
  for (const RgbdView& view : scene.input.observations.back().views) {
    for (const auto& [u, v] : {std::pair{0, 0}, std::pair{15, 11}}) {
      const Vec3d p = Unproject(view.camera, u, v, view.depth.pixels_m[0]);
      EXPECT_TRUE(
          Contains(predictor.metadata().workspace, {float(p[0]), float(p[1]), float(p[2])}));
    }
  }
}

/// A loader's thread has nobody who catches.
TEST(WarmUp, ASceneThatCannotBeReachedIsAnError) {
  const TempFolder folder;
  std::filesystem::create_symlink("warmup", folder.File("warmup"));  // to itself
  EXPECT_FALSE(ReadWarmUpScene(folder.path(), FakeMetadata()).ok());
}

/// Without one a step would seem cheaper than those of requests are.
TEST(WarmUp, ThePlaneHasARobotWhereTheModelTakesOne) {
  ModelMetadata metadata = FakeMetadata();
  metadata.accepts_joint_positions = metadata.accepts_kinematic_points = true;
  metadata.action_columns = {{"elbow_rad", ActionUnit::kRadians, -1, 3, 0},
                             {"gripper_m", ActionUnit::kMeters, 0, 0.1, 0}};
  metadata.kinematic_point_names = {"hand"};
  const auto joints = Must(ReadWarmUpScene("/no/such/checkpoint", metadata));
  EXPECT_EQ(joints.input.history_actions.kind, ActionKind::kJointPositions);
  EXPECT_EQ(joints.actions.values, (std::vector<float>{1, 0.05f, 1, 0.05f}));

  metadata.accepts_joint_positions = false;
  const auto points = Must(ReadWarmUpScene("/no/such/checkpoint", metadata));
  EXPECT_EQ(points.input.history_actions.row_count, metadata.history_step_count);
  EXPECT_EQ(points.actions.kind, ActionKind::kKinematicPoints);
  EXPECT_EQ(points.actions.column_count, 3);

  metadata.accepts_kinematic_points = false;
  const auto none = Must(ReadWarmUpScene("/no/such/checkpoint", metadata));
  EXPECT_EQ(none.actions.kind, ActionKind::kNone);
}

TEST(WarmUp, RunsTwoStepsAndMeasures) {
  FakePredictor predictor;
  const auto scene = Must(ReadWarmUpScene("/no/such/checkpoint", predictor.metadata()));
  const auto result = Must(RunWarmUp(scene, {}, &predictor));
  EXPECT_EQ(result.steps.size(), 2u);
  EXPECT_GT(result.ingest_cost_s, 0);
  EXPECT_GT(result.render_cost_s, 0);
  EXPECT_GT(result.carry_cost_s, 0);
  EXPECT_TRUE(CheckWarmUp(scene, result).ok());
}

TEST(WarmUp, StepsThatAskNoNetworkAreNotTimed) {
  StillPredictor predictor(std::make_shared<FakeControls>(), /*is_always_still=*/true);
  const auto scene = Must(ReadWarmUpScene("/no/such/checkpoint", predictor.metadata()));
  const auto result = Must(RunWarmUp(scene, {}, &predictor));
  EXPECT_EQ(result.steps.size(), 2u);
  EXPECT_EQ(result.step_cost_s, 0);
  EXPECT_GT(result.ingest_cost_s, 0);
}

TEST(WarmUp, CostsGoToTheMetadataThatIsHandedOut) {
  ServedModel model{std::make_unique<FakePredictor>(), FakeMetadata(), nullptr, {}};
  ASSERT_TRUE(WarmUp("/no/such/checkpoint", {}, &model).ok());
  EXPECT_GT(model.metadata.ingest_cost_s, 0);
  EXPECT_GT(model.metadata.step_cost_s, 0);
  EXPECT_GT(model.metadata.render_cost_s, 0);
  EXPECT_GT(model.metadata.carry_cost_s, 0);
}

TEST(WarmUp, MeasuresWhatACallAndASceneTake) {
  auto controls = std::make_shared<FakeControls>();
  controls->scene_bytes = 300;
  controls->held_bytes = 700;
  controls->peak_bytes = 2000;
  ServedModel silent{
      std::make_unique<FakePredictor>(FakeMetadata(), controls), FakeMetadata(), nullptr, {}};
  ASSERT_TRUE(WarmUp("/no/such/checkpoint", {}, &silent).ok());
  EXPECT_FALSE(silent.memory.has_value());

  controls = std::make_shared<FakeControls>();
  controls->scene_bytes = 300;
  controls->held_bytes = 700;
  controls->peak_bytes = 2000;
  controls->memory = DeviceMemory{50, 60, 9000, 10000};
  ServedModel model{
      std::make_unique<FakePredictor>(FakeMetadata(), controls), FakeMetadata(), nullptr, {}};
  ASSERT_TRUE(WarmUp("/no/such/checkpoint", {}, &model).ok());
  ASSERT_TRUE(model.memory.has_value());
  EXPECT_EQ(model.memory->held_bytes, 700);
  EXPECT_EQ(model.memory->peak_bytes, 2000);
  EXPECT_EQ(model.memory->scene_bytes, 300);
  EXPECT_EQ(model.memory->free_bytes, 9000);
  EXPECT_EQ(model.memory->total_bytes, 10000);
}

TEST(WarmUp, StopsWhenAsked) {
  FakePredictor predictor;
  const auto scene = ReadWarmUpScene("/no/such/checkpoint", predictor.metadata());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(RunWarmUp(*scene, stop.get_token(), &predictor).status().code(),
            StatusCode::kCancelled);
}

// fm-35
TEST(WarmUp, ComparesWithinTheStoredTolerance) {
  EXPECT_TRUE(
      CheckWarmUp(Expecting({{1, 0, {1.005f, 0, 0}}, {2, 1, {2, 1, 0}}}), TwoParticles()).ok());
  const Status far = CheckWarmUp(Expecting({{1, 0, {1.02f, 0, 0}}}), TwoParticles());
  EXPECT_EQ(far.reason(), reason::MODEL_LOAD_FAILED);
  EXPECT_TRUE(CheckWarmUp(Expecting({{1, 0, {1.02f, 0, 0}}}, 1), TwoParticles()).ok());
}

TEST(WarmUp, NanAndUnknownParticlesAreMismatches) {
  WarmUpResult broken = TwoParticles();
  broken.steps[0].positions_m[0] = kBrokenValue;
  EXPECT_FALSE(CheckWarmUp(Expecting({{1, 0, {1, 0, 0}}}), broken).ok());
  EXPECT_FALSE(CheckWarmUp(Expecting({{1, 2, {1, 0, 0}}}), TwoParticles()).ok());
  EXPECT_FALSE(CheckWarmUp(Expecting({{3, 0, {1, 0, 0}}}), TwoParticles()).ok());
}

TEST(WarmUp, BrokenExpectationsNameTheField) {
  const std::string dir =
      ::testing::TempDir() + "/interlacer_warm_up_test_" + std::to_string(getpid());
  std::filesystem::create_directories(dir + "/warmup");
  std::ofstream(dir + "/warmup/expected.json")
      << R"({"schema": "interlacer.warmup", "schema_version": 1, "tolerance_m": "much"})";
  FakePredictor predictor;
  const Status status = ReadWarmUpScene(dir, predictor.metadata()).status();
  EXPECT_EQ(status.reason(), reason::CHECKPOINT_INVALID);
  EXPECT_EQ(status.field(), "tolerance_m");
}

}  // namespace
}  // namespace interlacer::testing
