/// The first run of a model: what it measures, what it compares, when it stops.

#include "server/models/warm_up.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/transforms.h"
#include "tests/server/still_predictor.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/matchers.h"
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
  EXPECT_EQ(ReadWarmUpScene(folder.path(), FakeMetadata()).status().reason(),
            reason::FILE_UNREADABLE);
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
  const auto check = [](const WarmUpSample& sample, const WarmUpResult& result) {
    const Status status = CheckWarmUp(Expecting({sample}), result);
    EXPECT_EQ(status.reason(), reason::MODEL_LOAD_FAILED);
    return status.message();
  };
  EXPECT_THAT(check({1, 0, {1, 0, 0}}, broken), HasSubstr("1 of 1 positions differ"));
  EXPECT_THAT(check({1, 2, {1, 0, 0}}, TwoParticles()), HasSubstr("does not exist"));
  EXPECT_THAT(check({3, 0, {1, 0, 0}}, TwoParticles()), HasSubstr("does not exist"));
}

TEST(WarmUp, ComparesColoursOfTheField) {
  WarmUpScene scene = Expecting({});
  scene.pixels = {{1, {0.2f, 0.2f, 0.2f}}};
  scene.color_tolerance = 0.1;
  const auto check = [&scene](std::vector<float> colors) {
    WarmUpResult result = TwoParticles();
    result.colors = std::move(colors);
    return CheckWarmUp(scene, result);
  };
  EXPECT_TRUE(check({0, 0, 0, 0.25f, 0.2f, 0.2f}).ok());
  for (const float far : {0.4f, kBrokenValue}) {
    const Status status = check({0, 0, 0, 0.2f, far, 0.2f});
    EXPECT_EQ(status.reason(), reason::MODEL_LOAD_FAILED);
    EXPECT_THAT(status.message(), HasSubstr("1 of 1 colours"));
  }
  EXPECT_THAT(check({0, 0, 0}).message(), HasSubstr("a pixel that was not drawn"));
  scene.max_outlier_count = 1;
  EXPECT_TRUE(check({0, 0, 0, 0.2f, 0.4f, 0.2f}).ok());
}

class StoredWarmUp : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy(INTERLACER_SOURCE_DIR "/checkpoints/small/warmup", folder_.File("warmup"),
                          std::filesystem::copy_options::recursive);
  }
  WarmUpScene Read() const { return Must(ReadWarmUpScene(folder_.path(), FakeMetadata())); }

  const TempFolder folder_;
};

TEST_F(StoredWarmUp, IsOfTheLastStepsAndComesBackAsItWasWritten) {
  WarmUpScene scene = Must(ReadSceneToRecord(folder_.path(), FakeMetadata()));
  EXPECT_EQ(scene.newest_step, 3) << "two of six steps are left to predict";
  EXPECT_EQ(scene.actions.row_count, kWarmUpStepCount);
  scene.expected = {{2, 7, {0.25f, -0.5f, 1}}};
  scene.pixels = {{9, {0.125f, 0, 1}}};
  scene.tolerance_m = 0.003;
  scene.color_tolerance = 0.04;
  scene.max_outlier_count = 5;
  ASSERT_TRUE(WriteExpected(folder_.path(), scene).ok());

  const WarmUpScene read = Read();
  EXPECT_EQ(read.newest_step, 3);
  EXPECT_EQ(read.input.history_actions.values, scene.input.history_actions.values);
  EXPECT_EQ(read.actions.values, scene.actions.values);
  ASSERT_EQ(read.expected.size(), 1u);
  EXPECT_EQ(read.expected[0].step, 2);
  EXPECT_EQ(read.expected[0].particle, 7);
  EXPECT_EQ(read.expected[0].position_m, scene.expected[0].position_m);
  ASSERT_EQ(read.pixels.size(), 1u);
  EXPECT_EQ(read.pixels[0].pixel, 9);
  EXPECT_EQ(read.pixels[0].rgb, scene.pixels[0].rgb);
  EXPECT_EQ(read.tolerance_m, 0.003);
  EXPECT_EQ(read.color_tolerance, 0.04);
  EXPECT_EQ(read.max_outlier_count, 5);
}

/// As they were written before steps and colours were stored.
TEST_F(StoredWarmUp, WithoutAStepIsOfTheFirstSteps) {
  const WarmUpScene last = Read();
  std::ofstream(folder_.File("warmup/expected.json"))
      << R"({"schema": "interlacer.warmup", "schema_version": 1, "tolerance_m": 0.02,
             "max_outlier_count": 3, "samples": []})";
  const WarmUpScene first = Read();
  EXPECT_EQ(first.newest_step, 1);
  EXPECT_TRUE(first.pixels.empty());
  EXPECT_EQ(first.actions.row_count, kWarmUpStepCount);
  EXPECT_NE(first.input.history_actions.values, last.input.history_actions.values);
  EXPECT_NE(first.actions.values, last.actions.values);
}

TEST_F(StoredWarmUp, NamesTheFieldThatIsBroken) {
  for (const auto& [broken, field] :
       {std::pair(R"("tolerance_m": "much")", "tolerance_m"),
        std::pair(R"("newest_step": "1")", "newest_step"),
        std::pair(R"("tolerance_m": 1, "max_outlier_count": 0, "samples": [], "pixels": [])",
                  "color_tolerance"),
        std::pair(R"("tolerance_m": 1, "max_outlier_count": 0, "samples": [],
                     "color_tolerance": 1, "pixels": [{"pixel": 0, "rgb": [0, 0]}])",
                  "pixels[0].rgb")}) {
    std::ofstream(folder_.File("warmup/expected.json"))
        << R"({"schema": "interlacer.warmup", "schema_version": 1, )" << broken << "}";
    const Status status = ReadWarmUpScene(folder_.path(), FakeMetadata()).status();
    EXPECT_EQ(status.reason(), reason::CHECKPOINT_INVALID);
    EXPECT_EQ(status.field(), field);
  }
}

}  // namespace
}  // namespace interlacer::testing
