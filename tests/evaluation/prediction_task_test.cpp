#include "evaluation/prediction_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cli/local_backend.h"
#include "data/rectified_view.h"
#include "evaluation/episode_evaluation.h"
#include "evaluation/evaluation_plan.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/painted_plane.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

class PlaneTaskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::PaintedPlane plane;
    plane.width_px = 64;
    plane.height_px = 48;
    plane.view_count = 4;
    const auto dir = Must(testing::WritePaintedPlane(folder_.File("plane"), plane));
    episode_ = std::make_unique<EpisodeReader>(Must(EpisodeReader::Open(dir)));
    request_.input_cameras = {"view_0", "view_2"};
    request_.target_cameras = {"view_1"};
  }

  /// Its particles and depth are far from the plane.
  std::unique_ptr<Predictor> GridPredictor() const {
    const auto controls = std::make_shared<testing::FakeControls>();
    controls->particles = testing::FakeGrid();
    return std::make_unique<testing::FakePredictor>(metadata_, controls);
  }

  TempFolder folder_;
  std::unique_ptr<EpisodeReader> episode_;
  const ModelMetadata metadata_ = testing::FakeMetadata(32, 24);
  PredictionRequest request_;
};

TEST_F(PlaneTaskTest, TargetsAreTheInputsAndTheHeldOutViewAtTheModelsSize) {
  const auto task = Must(MakePredictionTask(*episode_, metadata_, request_));
  ASSERT_EQ(task.targets.size(), 3u);
  EXPECT_TRUE(task.targets[0].is_input);
  EXPECT_EQ(task.targets[2].name, "view_1");
  EXPECT_FALSE(task.targets[2].is_input);
  ASSERT_EQ(task.output.render_targets.size(), 6u);  // each picture with its depth
  EXPECT_EQ(task.output.render_targets[4].name, "view_1");
  EXPECT_EQ(task.output.render_targets[4].camera->width_px, 32);
  EXPECT_EQ(task.output.render_targets[5].encoding, ViewEncoding::kDepthF32);
  EXPECT_EQ(task.step_count, kDefaultStaticSteps);
  EXPECT_EQ(task.output.steps, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(task.actions.kind, ActionKind::kNone);
  EXPECT_EQ(task.input.observations.size(), 2u);
}

TEST_F(PlaneTaskTest, PicturesHaveTheSizeThatIsAskedFor) {
  const auto size_of = [&](PictureSize size) {
    request_.picture_size = size;
    const auto task = MakePredictionTask(*episode_, metadata_, request_);
    INTERLACER_CHECK(task.ok(), task.status().ToString());
    const auto truth = ReadTrueFrame(*episode_, *task, task->targets[2], 0);
    EXPECT_EQ((*truth)->color.width_px, task->targets[2].width_px);
    EXPECT_EQ(task->output.render_targets[4].camera->width_px, task->targets[2].width_px);
    return std::pair(task->targets[2].width_px, task->targets[2].height_px);
  };
  EXPECT_EQ(size_of({}), std::pair(32, 24));
  EXPECT_EQ(size_of({PictureSize::Of::kRecorded, 0, 0}), std::pair(64, 48));
  EXPECT_EQ(size_of({PictureSize::Of::kGiven, 20, 10}), std::pair(20, 10));
}

TEST_F(PlaneTaskTest, TheTruthOfAStaticSceneHoldsAtEveryStep) {
  const auto task = Must(MakePredictionTask(*episode_, metadata_, request_));
  const auto now = ReadTrueFrame(*episode_, task, task.targets[2], 0);
  const auto later = ReadTrueFrame(*episode_, task, task.targets[2], 2);
  ASSERT_TRUE(now.ok() && *now && later.ok() && *later);
  EXPECT_EQ((*now)->color.width_px, 32);
  EXPECT_EQ((*now)->color.pixels, (*later)->color.pixels);
}

TEST_F(PlaneTaskTest, OutsideOfTheWorkspaceIsPaintedWhiteOnRequest) {
  auto task = Must(MakePredictionTask(*episode_, metadata_, request_));
  task.region.workspace = {{-1, -1, 5}, {1, 1, 6}};
  const auto painted = ReadTrueFrame(*episode_, task, task.targets[0], 0);
  const auto& pixels = (*painted)->color.pixels;
  EXPECT_TRUE(std::all_of(pixels.begin(), pixels.end(), [](int v) { return v == 255; }));
  task.paint_outside_white = false;
  const auto plain = ReadTrueFrame(*episode_, task, task.targets[0], 0);
  EXPECT_NE((*plain)->color.pixels, pixels);
}

TEST_F(PlaneTaskTest, RefusesUnknownCamerasAndSteps) {
  request_.target_cameras = {"nowhere"};
  const Status camera = MakePredictionTask(*episode_, metadata_, request_).status();
  EXPECT_EQ(camera.reason(), reason::CAMERA_UNKNOWN);
  request_.target_cameras.clear();
  request_.start_step = 1;
  EXPECT_EQ(MakePredictionTask(*episode_, metadata_, request_).status().reason(),
            reason::STEP_INVALID);
  request_.start_step = -1;
  request_.input_cameras = {"view_0"};
  EXPECT_EQ(MakePredictionTask(*episode_, metadata_, request_).status().reason(),
            reason::CAMERA_MISSING);
}

TEST_F(PlaneTaskTest, EvaluationScoresModelAndSplatOfEveryView) {
  const auto task = Must(MakePredictionTask(*episode_, metadata_, request_));
  LocalBackend backend(GridPredictor());
  int steps = 0;
  const auto evaluation =
      EvaluateEpisode(*episode_, task, &backend,
                      [&](const PredictedStep& step, const std::vector<EvaluatedView>& views) {
                        EXPECT_EQ(step.step, steps++);
                        EXPECT_EQ(views.size(), 3u);
                        return Status::Ok();
                      },
                      {});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status().ToString();
  EXPECT_EQ(steps, 3);
  const EvaluatedView* view = evaluation->Find("view_1", 2);
  ASSERT_NE(view, nullptr);
  std::vector<std::string> subjects;
  for (const ViewScore& score : view->scores) {
    if (score.metric == kSsim) subjects.emplace_back(score.subject);
    EXPECT_TRUE(score.value || !score.reason.empty());
  }
  // The fake predictor's depth and particles are far from the plane, but there.
  const auto has = [&](std::string_view subject, std::string_view metric) {
    return std::any_of(view->scores.begin(), view->scores.end(), [&](const ViewScore& s) {
      return s.subject == subject && s.metric == metric && s.value > 0.0;
    });
  };
  EXPECT_TRUE(has(kModelSubject, kDepthAbs) && has(kSplat, kDepthAbs) &&
              has(kModelSubject, kChamferHalf));
  // Carried pixels are those of the held-out view, and the same for all.
  for (const std::string_view subject : {kModelSubject, kKinematicSubject, kSplat}) {
    for (const std::string_view metric : {kSsimCarried, kPsnrCarried}) {
      EXPECT_TRUE(std::any_of(view->scores.begin(), view->scores.end(),
                              [&](const ViewScore& s) {
                                return s.subject == subject && s.metric == metric && s.value;
                              }))
          << subject << " " << metric;
    }
  }
  for (const ViewScore& score : evaluation->Find("view_0", 2)->scores) {
    if (score.metric != kSsimCarried) continue;
    EXPECT_THAT(score.reason, HasSubstr("held-out"));
  }
  // No copy_last: nothing moves, and the camera was not observed.
  EXPECT_TRUE(std::none_of(view->scores.begin(), view->scores.end(),
                           [](const ViewScore& s) { return s.subject == kCopyLast; }));
  EXPECT_EQ(subjects, (std::vector<std::string>{"model", "kinematic", "reconstruction", "splat"}));
}

TEST_F(PlaneTaskTest, StaticScenesAreEvaluatedOnHeldOutViews) {
  PlanOptions options;
  options.window_count = 3;
  const auto requests = Must(PlanEpisode(episode_->manifest(), metadata_, options));
  ASSERT_FALSE(requests.empty());
  EXPECT_LE(requests.size(), 3u);
  for (const PredictionRequest& request : requests) {
    EXPECT_EQ(request.input_cameras.size(), 2u);
    ASSERT_FALSE(request.target_cameras.empty());
    for (const std::string& held_out : request.target_cameras) {
      EXPECT_EQ(std::count(request.input_cameras.begin(), request.input_cameras.end(), held_out),
                0);
    }
  }
}

TEST_F(PlaneTaskTest, AStaticSceneNeedsNoNamedCameras) {
  const auto chosen = Must(WithChosenViews(episode_->manifest(), metadata_, {}));
  const auto task = Must(MakePredictionTask(*episode_, metadata_, chosen));
  ASSERT_EQ(task.targets.size(), 3u);
  EXPECT_FALSE(task.targets[2].is_input);
  // Evaluate's first window is the same one.
  const auto plan = PlanEpisode(episode_->manifest(), metadata_, {});
  EXPECT_EQ(plan->front().input_cameras, chosen.input_cameras);
  EXPECT_EQ(plan->front().target_cameras, chosen.target_cameras);
}

TEST_F(PlaneTaskTest, NamedCamerasAndTargetsAreKept) {
  EXPECT_EQ(WithChosenViews(episode_->manifest(), metadata_, request_)->input_cameras,
            request_.input_cameras);
  PredictionRequest request;
  request.target_cameras = {"view_0"};
  const auto chosen = Must(WithChosenViews(episode_->manifest(), metadata_, request));
  EXPECT_EQ(chosen.target_cameras, request.target_cameras);
  for (const std::string& input : chosen.input_cameras) EXPECT_NE(input, "view_0");
  request.target_cameras = {"nowhere"};
  EXPECT_EQ(WithChosenViews(episode_->manifest(), metadata_, request).status().reason(),
            reason::CAMERA_UNKNOWN);
}

class MovingCameraTest : public PlaneTaskTest {
 protected:
  void SetUp() override {
    testing::PaintedPlane plane;
    plane.view_count = 5;
    plane.is_moving_camera = true;
    const auto dir = Must(testing::WritePaintedPlane(folder_.File("moving"), plane));
    const auto recording = Must(EpisodeReader::Open(dir));
    ASSERT_EQ(recording.camera_count(), 1);
    episode_ = std::make_unique<EpisodeReader>(recording.AsStaticViews());
  }
};

TEST_F(MovingCameraTest, StepsAreViewsWithTheirOwnPosesAndFrames) {
  ASSERT_EQ(episode_->camera_count(), 5);
  EXPECT_EQ(episode_->step_count(), 1);
  EXPECT_EQ(episode_->manifest().cameras[3].name, "step_000003");
  testing::PaintedPlane plane;
  RgbImage color;
  DepthImage16 depth;
  testing::RenderPlane(plane, testing::PlaneCamera(plane, 3), &color, &depth);
  const auto view = Must(episode_->ReadView(0, 3));
  EXPECT_EQ(view.color.pixels, color.pixels);
  EXPECT_NEAR(view.camera.world_from_camera.translation_m[1], 0.3, 1e-9);
}

TEST_F(MovingCameraTest, IsPredictedAndEvaluatedFromItsViews) {
  const auto plan = Must(PlanEpisode(episode_->manifest(), metadata_, {}));
  const auto task = Must(MakePredictionTask(*episode_, metadata_, plan.front()));
  EXPECT_TRUE(task.is_static);
  ASSERT_EQ(task.targets.size(), 3u);
  // Two observations of the model's spacing, each with both views taken at one time.
  ASSERT_EQ(task.input.observations.size(), 2u);
  const auto& older = task.input.observations[0].views;
  const auto& newest = task.input.observations[1].views;
  EXPECT_EQ(older[0].capture_time_ns, older[1].capture_time_ns);
  EXPECT_NEAR(1e-9 * (newest[0].capture_time_ns - older[0].capture_time_ns),
              metadata_.step_duration_s, 1e-9);

  LocalBackend backend(GridPredictor());
  const auto evaluation = Must(EvaluateEpisode(
      *episode_, task, &backend,
      [](const PredictedStep&, const std::vector<EvaluatedView>&) { return Status::Ok(); }, {}));
  EXPECT_TRUE(evaluation.Find(task.targets[2].name, 0)->truth.has_value());
}

TEST(RectifiedView, UndoesTheLensModel) {
  RgbdView view;
  view.camera.width_px = 41;
  view.camera.height_px = 31;
  view.camera.fx_px = view.camera.fy_px = 40;
  view.camera.cx_px = 20;
  view.camera.cy_px = 15;
  view.camera.distortion_model = DistortionModel::kPlumbBob;
  view.camera.distortion_coefficients = {-0.2, 0.02, 0, 0, 0};
  view.color = {41, 31, std::vector<std::uint8_t>(41 * 31 * 3, 10)};
  view.depth = {41, 31, std::vector<float>(41 * 31, 1.f)};
  // A point 10 px right of the centre without lens; where the lens puts it:
  const ProjectedPixel at =
      Project(view.camera, Unproject(RectifiedCamera(view.camera), 30, 15, 1));
  ASSERT_LT(at.u_px, 29.9);
  const int column = static_cast<int>(std::lround(at.u_px));
  view.color.pixels[3 * (15 * 41 + column)] = 250;

  const RgbdView rectified = RectifiedView(view);
  EXPECT_EQ(rectified.camera.distortion_model, DistortionModel::kNone);
  EXPECT_GT(rectified.color.pixels[3 * (15 * 41 + 30)], 100);
  EXPECT_EQ(rectified.color.pixels[3 * (15 * 41 + 20)], 10);
}

}  // namespace
}  // namespace interlacer
