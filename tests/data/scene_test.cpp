// Scene input, scene report, validation and overlay over one synthetic episode.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "common/file_io.h"
#include "common/transforms.h"
#include "data/episode_reader.h"
#include "data/episode_writer.h"
#include "data/frame_facts.h"
#include "data/overlay.h"
#include "data/scene_input.h"
#include "data/scene_report.h"
#include "data/unproject.h"
#include "data/validate.h"
#include "tests/data/synthetic_scene.h"
#include "tests/robots/small_robot.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

constexpr LiftRegion kSceneRegion{kSyntheticWorkspace, 0.1, 2.0};

bool Has(const std::vector<Finding>& findings, const std::string& reason) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.reason == reason; });
}

std::vector<RgbdView> ViewsOfScene() {
  return {SyntheticView(SyntheticCamera(true, 160, 120)),
          SyntheticView(SyntheticCamera(false, 160, 120))};
}

TEST(SceneReportTest, GoodCalibrationAgreesWithinThePixelSpacing) {
  const SceneReport report = ReportScene(ViewsOfScene(), kSceneRegion);
  EXPECT_TRUE(report.findings.empty()) << report.findings.front().message;
  EXPECT_GE(report.cross_camera_distance_m, 0);
  EXPECT_LT(report.cross_camera_distance_m, 0.008);  // pixels lie about 1 cm apart
  ASSERT_EQ(report.cameras.size(), 2u);
  EXPECT_GT(report.cameras[0].workspace_ratio, 0.5);
  EXPECT_GT(report.candidate_point_count, 10000);
}

struct Disturbance {
  const char* name;
  std::function<void(std::vector<RgbdView>*)> apply;
};

class WrongCalibrationTest : public ::testing::TestWithParam<Disturbance> {};

std::string FieldOf(const SceneReport& report, const std::string& reason) {
  for (const Finding& finding : report.findings) {
    if (finding.reason == reason) return finding.field;
  }
  return "no " + reason;
}

// fm-8
TEST_P(WrongCalibrationTest, IsSuspect) {
  std::vector<RgbdView> views = ViewsOfScene();
  GetParam().apply(&views);
  // The box would hide some of these mistakes; a caller's may be wide.
  const LiftRegion wide{{{-5, -5, -5}, {5, 5, 5}}, 0.1, 3.0};
  const SceneReport report = ReportScene(views, wide);
  EXPECT_EQ(FieldOf(report, "CALIBRATION_SUSPECT"), "views[1].calibration")
      << "distance " << report.cross_camera_distance_m;
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, WrongCalibrationTest,
    ::testing::Values(
        Disturbance{"InversePose",
                    [](auto* views) {
                      for (RgbdView& view : *views) {
                        view.camera.world_from_camera = Inverse(view.camera.world_from_camera);
                      }
                    }},
        Disturbance{"OpenGlAxes",
                    [](auto* views) {
                      for (RgbdView& view : *views) {
                        view.camera.world_from_camera = Compose(view.camera.world_from_camera,
                                                                Transform{{0, 0, 0}, {1, 0, 0, 0}});
                      }
                    }},
        Disturbance{"SwappedCameras",
                    [](auto* views) { std::swap((*views)[0].camera, (*views)[1].camera); }},
        Disturbance{"WrongFocalLength",
                    [](auto* views) {
                      for (RgbdView& view : *views) {
                        view.camera.fx_px *= 0.7;
                        view.camera.fy_px *= 0.7;
                      }
                    }},
        Disturbance{
            "TenCentimetresOff",
            [](auto* views) { (*views)[1].camera.world_from_camera.translation_m[2] += 0.1; }}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(SceneReportTest, SaysWhatElseLooksWrong) {
  std::vector<RgbdView> views = ViewsOfScene();
  for (std::size_t i = 0; i < views[0].depth.pixels_m.size(); ++i) {
    if (i % 5 != 0) views[0].depth.pixels_m[i] = NAN;
  }
  views[1].capture_time_ns = 30'000'000;
  SceneReport report = ReportScene(views, kSceneRegion);
  EXPECT_EQ(FieldOf(report, "LOW_VALID_DEPTH"), "views[0].depth");
  EXPECT_EQ(FieldOf(report, "CAMERA_SKEW_HIGH"), "views");
  EXPECT_DOUBLE_EQ(report.camera_skew_s, 0.03);
  report = ReportScene(views, {{{5, 5, 5}, {6, 6, 6}}, 0.1, 2});
  EXPECT_TRUE(Has(report.findings, "MOSTLY_OUTSIDE_WORKSPACE"));
  EXPECT_EQ(ReportScene({}, kSceneRegion).candidate_point_count, 0);
}

class SceneEpisodeTest : public ::testing::Test {
 protected:
  SceneEpisodeTest() : path_(folder_.File("synthetic_000001")) { WriteSyntheticEpisode(path_); }
  TempFolder folder_;
  std::string path_;
};

TEST_F(SceneEpisodeTest, InputHasHistoryAndPlan) {
  const auto episode = EpisodeReader::Open(path_);
  SceneInputOptions options;
  options.newest_step = 2;
  options.seed = 7;
  const auto input = Must(MakeSceneInput(*episode, options));
  ASSERT_EQ(input.observations.size(), 2u);
  EXPECT_EQ(input.observations[1].views[1].camera_name, "right");
  EXPECT_EQ(input.observations[1].views[0].capture_time_ns -
                input.observations[0].views[0].capture_time_ns,
            500'000'000);
  EXPECT_GT(input.observations[0].views[0].capture_time_ns, 0);
  EXPECT_EQ(input.history_actions.kind, ActionKind::kJointPositions);
  ASSERT_EQ(input.history_actions.row_count, 2);
  EXPECT_FLOAT_EQ(input.history_actions.values[0], 0.1f);  // measured at step 1
  EXPECT_EQ(input.workspace, kSyntheticWorkspace);
  const auto plan = MakePlannedActions(*episode, options, 8);
  ASSERT_EQ(plan->row_count, 1);           // the episode ends at step 3
  EXPECT_FLOAT_EQ(plan->values[0], 0.4f);  // commanded for step 3
}

/// The joints of the episode's table, the other way round.
Robot RobotWithGripFirst() {
  Robot robot = testing::SmallRobot();
  robot.links[1].joint.name = "joint_1";
  robot.links[2].joint = {};
  robot.columns = {3, 1};
  return robot;
}

TEST_F(SceneEpisodeTest, RowsStandInTheOrderOfTheRobotThatCounts) {
  const auto episode = EpisodeReader::Open(path_);
  SceneInputOptions options;
  options.newest_step = 2;
  options.robot = std::make_shared<const Robot>(RobotWithGripFirst());
  const auto input = Must(MakeSceneInput(*episode, options));
  const auto plan = Must(MakePlannedActions(*episode, options, 1));
  EXPECT_EQ(input.robot, options.robot);
  for (const ActionSequence* rows : {&input.history_actions, &plan}) {
    ASSERT_EQ(rows->column_count, 2);
    const bool is_plan = rows == &plan;
    const NumberTable& table = is_plan ? episode->actions() : episode->states();
    const double* const row = table.values.data() + (is_plan ? 3 : 1) * table.column_count;
    ASSERT_NE(row[0], row[1]);
    EXPECT_FLOAT_EQ(rows->values[0], static_cast<float>(row[1]));
    EXPECT_FLOAT_EQ(rows->values[1], static_cast<float>(row[0]));
  }

  Robot other = RobotWithGripFirst();
  other.links[1].joint.name = "elbow";
  options.robot = std::make_shared<const Robot>(std::move(other));
  EXPECT_EQ(MakeSceneInput(*episode, options).status().reason(), "ACTION_SHAPE");
  EXPECT_EQ(MakePlannedActions(*episode, options, 1).status().reason(), "ACTION_SHAPE");
}

TEST_F(SceneEpisodeTest, RowsOfNoKnownRobotStandInTheOrderOfTheModelsColumns) {
  const auto episode = EpisodeReader::Open(path_);
  ASSERT_EQ(episode->robot(), nullptr);
  const std::vector<TableColumn>& columns = episode->manifest().states->columns;
  ASSERT_EQ(columns.size(), 2u);
  SceneInputOptions options;
  options.newest_step = 2;
  const std::vector<float> own = Must(MakeSceneInput(*episode, options)).history_actions.values;
  ASSERT_NE(own[0], own[1]);
  options.model_columns = {columns[1].name, columns[0].name};
  const std::vector<float> named = Must(MakeSceneInput(*episode, options)).history_actions.values;
  EXPECT_EQ(named[0], own[1]);
  EXPECT_EQ(named[1], own[0]);
  const auto plan = Must(MakePlannedActions(*episode, options, 1));
  EXPECT_FLOAT_EQ(plan.values[0], static_cast<float>(episode->actions().values[3 * 2 + 1]));
  options.model_columns = {columns[1].name, "elbow"};
  EXPECT_EQ(Must(MakeSceneInput(*episode, options)).history_actions.values, own);
}

TEST_F(SceneEpisodeTest, BadChoicesAreNamed) {
  const auto episode = EpisodeReader::Open(path_);
  SceneInputOptions options;
  options.newest_step = 0;  // nothing before it
  EXPECT_EQ(MakeSceneInput(*episode, options).status().reason(), "STEP_INVALID");
  options.newest_step = 4;
  EXPECT_EQ(MakeSceneInput(*episode, options).status().reason(), "STEP_INVALID");
  options.newest_step = 1;
  options.episode_cameras = {"left", "top"};
  EXPECT_EQ(MakeSceneInput(*episode, options).status().metadata().at("got"), "top");
  options.episode_cameras = {"left", "left"};
  EXPECT_EQ(MakeSceneInput(*episode, options).status().reason(), "CAMERA_DUPLICATE");
  options.episode_cameras = {"left"};
  EXPECT_EQ(MakeSceneInput(*episode, options).status().reason(), "CAMERA_MISSING");
}

TEST_F(SceneEpisodeTest, AGoodEpisodeValidatesWithoutFindings) {
  const auto report = Must(ValidateEpisode(path_));
  EXPECT_TRUE(report.errors.empty());
  EXPECT_TRUE(report.findings.empty()) << report.findings.front().message;
  EXPECT_EQ(report.frame_count, 2 * kSyntheticStepCount);
  EXPECT_GT(report.cross_camera_distance_m, 0);
}

TEST(FrameFacts, TheShareInsideFollowsThatOfAllPixels) {
  constexpr int kHeight = 480;
  constexpr double kTolerance = 0.03;  // a third of the rows tells
  const Camera camera = SyntheticCamera(true, 480, kHeight);
  for (const int period : {0, 2, 3, 4}) {
    TempFolder folder;
    EpisodeManifest manifest = SyntheticManifest();
    manifest.kind = EpisodeKind::kStaticViews;
    manifest.step_count = 1;
    manifest.actions = manifest.states = std::nullopt;
    manifest.cameras.resize(1);
    manifest.cameras[0].camera = camera;
    manifest.workspace.max_m[0] = 0.2;  // cuts the table
    const RgbdView view = SyntheticView(camera);
    DepthImage16 depth = ToIntegers(view.depth);
    for (int v = 0; v < kHeight; ++v) {
      if (period == 0 || v % period != 0) continue;
      std::fill_n(depth.pixels.begin() + static_cast<std::ptrdiff_t>(v) * depth.width_px,
                  depth.width_px, std::uint16_t{0});
    }
    auto writer = EpisodeWriter::Create(folder.File("episode"), manifest);
    ASSERT_TRUE((*writer)->WriteFrame(0, 0, view.color, depth).ok());
    ASSERT_TRUE((*writer)->Finish().ok());
    const auto episode = EpisodeReader::Open(folder.File("episode"));
    const FrameFacts facts = MeasureFrame(*episode, 0, 0, true);
    const auto classes =
        ClassifyPixels(camera, DepthToMeters(depth),
                       {manifest.workspace, manifest.cameras[0].near_m, manifest.cameras[0].far_m});
    const auto inside = std::count(classes.begin(), classes.end(), PixelClass::kValid);
    const double all = static_cast<double>(inside) / static_cast<double>(classes.size());
    EXPECT_GT(all, 0.1);
    EXPECT_NEAR(facts.workspace_ratio, all, kTolerance) << period;
    EXPECT_LE(facts.workspace_ratio, facts.valid_depth_ratio);
  }
}

TEST_F(SceneEpisodeTest, ValidationGoesOnAfterTheFirstError) {
  ASSERT_TRUE(WriteFileAtomic(path_ + "/color/left/000001.png", std::string_view("x")).ok());
  ASSERT_TRUE(WriteFileAtomic(path_ + "/depth/right/000002.png", std::string_view("y")).ok());
  ASSERT_TRUE(WriteFileAtomic(path_ + "/notes.txt", std::string_view("z")).ok());
  const auto report = Must(ValidateEpisode(path_));
  ASSERT_EQ(report.errors.size(), 2u);
  EXPECT_EQ(report.errors[0].field(), "color/left/000001.png");
  EXPECT_EQ(report.errors[1].reason(), "HASH_MISMATCH");
  EXPECT_TRUE(Has(report.findings, "FILE_UNLISTED"));
}

TEST_F(SceneEpisodeTest, WrongUnitsAndRangesAreFindings) {
  std::string manifest = *ReadTextFile(path_ + "/manifest.json");
  for (std::size_t at; (at = manifest.find("0.0001")) != std::string::npos;) {
    manifest.replace(at, 6, "0.1");  // a thousand times too large
  }
  const std::size_t max_at = manifest.find("\"max\": 3.0");
  ASSERT_NE(max_at, std::string::npos);
  manifest.replace(max_at, 10, "\"max\": 0.2");
  ASSERT_TRUE(WriteFileAtomic(path_ + "/manifest.json", manifest).ok());
  const auto report = Must(ValidateEpisode(path_));
  EXPECT_TRUE(Has(report.findings, "DEPTH_IMPLAUSIBLE"));
  EXPECT_TRUE(Has(report.findings, "MOSTLY_OUTSIDE_WORKSPACE"));
  EXPECT_TRUE(Has(report.findings, "ACTION_OUT_OF_RANGE"));
}

TEST_F(SceneEpisodeTest, JointsALittlePastTheirLimitsAreTolerated) {
  std::string manifest = *ReadTextFile(path_ + "/manifest.json");
  const std::string limit = "\"max\": 3.0";
  for (std::size_t at; (at = manifest.find(limit)) != std::string::npos;) {
    manifest.replace(at, limit.size(), "\"max\": 0.36");  // the last action is 0.4
  }
  ASSERT_TRUE(WriteFileAtomic(path_ + "/manifest.json", manifest).ok());
  const auto report = Must(ValidateEpisode(path_));
  EXPECT_FALSE(Has(report.findings, "ACTION_OUT_OF_RANGE"));
}

TEST_F(SceneEpisodeTest, OverlayOfGoodCamerasShowsTheSamePicture) {
  const auto episode = EpisodeReader::Open(path_);
  const auto picture = Must(MakeOverlay(*episode, 1, 0, 1));
  const RgbImage base = *episode->ReadColor(1, 0);
  int different = 0;
  for (std::size_t i = 0; i < base.pixels.size(); ++i) {
    different += base.pixels[i] != picture.pixels[i] ? 1 : 0;
  }
  // Colours depend on the surface alone; only pixels at the block's edges differ.
  EXPECT_LT(different, static_cast<int>(base.pixels.size() / 20));
  EXPECT_EQ(MakeOverlay(*episode, 9, 0, 1).status().reason(), "STEP_INVALID");
}

}  // namespace
}  // namespace interlacer
