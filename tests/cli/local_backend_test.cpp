#include "cli/local_backend.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/support/fake_predictor.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr float kDrift = 0.01f;

struct Answer {
  std::vector<PredictedStep> steps;
  StatusOr<RolloutSummary> summary = Internal("not run");
};

/// Over a grid of particles, images of 32 x 24 pixels.
LocalBackend GridBackend() {
  const auto controls = std::make_shared<FakeControls>();
  controls->particles = FakeGrid();
  return LocalBackend(std::make_unique<FakePredictor>(FakeMetadata(32, 24), controls));
}

Answer PredictAll(const OutputOptions& output, int row_count, std::stop_token stop = {}) {
  LocalBackend backend = GridBackend();
  Answer answer;
  answer.summary = backend.Predict(
      FakeSceneInput(backend.metadata()), FakeActions(row_count), output,
      [&](PredictedStep step) {
        answer.steps.push_back(std::move(step));
        return Status::Ok();
      },
      std::move(stop));
  return answer;
}

TEST(LocalBackend, EmptyOptionsGiveBareStepsAndASummary) {
  const Answer answer = PredictAll({}, 5);
  ASSERT_TRUE(answer.summary.ok());
  ASSERT_EQ(answer.steps.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(answer.steps[i].step, i + 1);
    EXPECT_EQ(answer.steps[i].predict_time_ns, 500'000'000ll * (i + 2));
    EXPECT_TRUE(answer.steps[i].positions_m.empty());
    EXPECT_TRUE(answer.steps[i].views.empty());
  }
  EXPECT_EQ(answer.summary->computed_step_count, 5);
  EXPECT_EQ(answer.summary->weights_sha256, std::string(64, 'a'));
  ASSERT_EQ(answer.summary->findings.size(), 1u);
  EXPECT_EQ(answer.summary->findings[0].reason, "ROLLOUT_BEYOND_TRAINING");
}

TEST(LocalBackend, RegionAndStrideChooseTheSameParticlesInEveryStep) {
  OutputOptions output;
  output.steps = {0, 2};
  output.include_positions = true;
  output.include_colors = true;
  output.initial_region = Box{{-0.21, -0.21, 0}, {0.01, 1, 1}};
  output.stride = 3;
  const Answer answer = PredictAll(output, 2);
  ASSERT_TRUE(answer.summary.ok());
  ASSERT_EQ(answer.steps.size(), 2u);
  const PredictedStep& first = answer.steps[0];
  // Columns 0 ... 4 of 8 lie in the box: 40 particles, every third of them.
  ASSERT_EQ(first.indices.size(), 14u);
  EXPECT_EQ(first.indices[1], 3u);
  EXPECT_EQ(first.indices[2], 9u);
  EXPECT_TRUE(answer.steps[1].indices.empty());
  EXPECT_EQ(answer.summary->selected_particle_count, 14);
  EXPECT_GT(answer.summary->durations.encode_s, 0);
  for (std::size_t i = 0; i < first.positions_m.size(); i += 3) {
    EXPECT_NEAR(answer.steps[1].positions_m[i], first.positions_m[i] + 2 * kDrift,
                testing::kFloatSumTolerance);
  }
  EXPECT_EQ(first.colors_rgb8[3], 9);
  EXPECT_EQ(first.colors_rgb8, answer.steps[1].colors_rgb8);
}

TEST(LocalBackend, SixteenBitPositionsAreOnTheGridOfTheBox) {
  OutputOptions output;
  output.steps = {0};
  output.include_positions = true;
  const Answer exact = PredictAll(output, 0);
  output.position_encoding = PositionEncoding::kWorkspaceU16;
  const Answer packed = PredictAll(output, 0);
  ASSERT_TRUE(packed.summary.ok());
  constexpr double kHalfStepM = 10.0 / 65535 / 2;
  for (std::size_t i = 0; i < exact.steps[0].positions_m.size(); ++i) {
    EXPECT_NEAR(packed.steps[0].positions_m[i], exact.steps[0].positions_m[i],
                kHalfStepM + testing::kFloatSumTolerance);
  }
}

TEST(LocalBackend, ViewsAreWholeAndQuantised) {
  OutputOptions output;
  output.render_mode = RenderMode::kField;
  output.steps = {1};
  RenderTarget color;
  color.name = "left";
  color.scene_camera_name = "left";
  RenderTarget depth = color;
  depth.name = "depth";
  depth.encoding = ViewEncoding::kDepthF32;
  output.render_targets = {color, depth};
  const Answer answer = PredictAll(output, 1);
  ASSERT_TRUE(answer.summary.ok());
  const RenderedView& view = answer.steps[0].views[0];
  ASSERT_EQ(view.color.pixels.size(), 32u * 24u * 3u);
  EXPECT_EQ(view.color.pixels[3 * 31], 247);           // floor(255 * 31/32 + 0.5)
  EXPECT_EQ(view.color.pixels[3 * 32 * 23 + 1], 244);  // floor(255 * 23/24 + 0.5)
  EXPECT_EQ(view.color.pixels[2], 26);                 // floor(255 * 0.1 + 0.5)
  EXPECT_EQ(answer.steps[0].views[1].depth.pixels_m.size(), 32u * 24u);
  EXPECT_FLOAT_EQ(answer.steps[0].views[1].depth.pixels_m[32], 1.507f);
}

/// Of the fake model's first joint; it may change by 1.5 rad in a step.
ActionSequence FirstJoint(float first, float second) {
  return {ActionKind::kJointPositions, 2, 3, {first, 0, 0, second, 0, 0}};
}

Status PredictRows(LocalBackend* backend, const ActionSequence& actions) {
  return backend
      ->Predict(FakeSceneInput(backend->metadata()), actions, {},
                [](const PredictedStep&) { return Status::Ok(); }, {})
      .status();
}

TEST(LocalBackend, RefusesRowsThatMoveAJointFasterThanItMay) {
  LocalBackend backend = GridBackend();
  EXPECT_TRUE(PredictRows(&backend, FirstJoint(1.5f, 0)).ok());
  EXPECT_TRUE(PredictRows(&backend, FirstJoint(-1.25f, 0.25f)).ok());
  const Status first = PredictRows(&backend, FirstJoint(1.75f, 1.75f));
  EXPECT_EQ(first.reason(), reason::ACTION_OUT_OF_RANGE);
  EXPECT_EQ(first.field(), "actions.joint_positions.values_f32le");
  EXPECT_EQ(first.metadata().at("expected"), "joint_1_rad changes by at most 1.500000");
  EXPECT_EQ(first.metadata().at("got"), "1.750000 at row 0, column 0");
  const Status second = PredictRows(&backend, FirstJoint(-1.25f, 0.5f));
  EXPECT_EQ(second.metadata().at("got"), "1.750000 at row 1, column 0");
  const Status turned = PredictRows(&backend, FirstJoint(1.5f, -2));
  EXPECT_EQ(turned.metadata().at("got"), "3.500000 at row 1, column 0 (wrapped to one turn?)");
}

TEST(LocalBackend, CandidatesAreHeldToTheSameSpeeds) {
  LocalBackend backend = GridBackend();
  const auto scene = *backend.OpenScene(FakeSceneInput(backend.metadata()));
  const std::vector<PlanRows> candidates = {{1, 3, {1.75, 0, 0}}};
  const Status status =
      scene->Predict(candidates, {}, [](const CandidateOutcome&) { return Status::Ok(); }, {});
  EXPECT_EQ(status.reason(), reason::ACTION_OUT_OF_RANGE);
}

TEST(LocalBackend, TakesMotionsThatHaveHappenedAsTheyAre) {
  LocalBackend backend(std::make_unique<FakePredictor>(), StepChanges::kAsRecorded);
  const auto summary =
      backend.Predict(FakeSceneInput(backend.metadata()), FirstJoint(1.75f, -1.75f), {},
                      [](const PredictedStep&) { return Status::Ok(); }, {});
  ASSERT_TRUE(summary.ok());
  ASSERT_EQ(summary->findings.size(), 1u);
  EXPECT_EQ(summary->findings[0].reason, "ACTION_JUMP");
}

TEST(LocalBackend, ErrorsOfTheCallbackEndTheRollout) {
  LocalBackend backend = GridBackend();
  int steps = 0;
  const auto summary = backend.Predict(
      FakeSceneInput(backend.metadata()), FakeActions(4), {},
      [&](PredictedStep) { return ++steps == 2 ? DataLoss("", "full") : Status::Ok(); }, {});
  EXPECT_EQ(summary.status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(steps, 2);
}

TEST(LocalBackend, AStopRequestCancels) {
  std::stop_source stop;
  stop.request_stop();
  const Answer answer = PredictAll({}, 3, stop.get_token());
  EXPECT_EQ(answer.summary.status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(answer.steps.empty());
}

TEST(LocalBackend, RefusesStepsThatDoNotAscendAndNoStepsAtAll) {
  OutputOptions output;
  output.steps = {2, 1};
  const Status descending = PredictAll(output, 2).summary.status();
  EXPECT_EQ(descending.reason(), reason::STEP_INVALID);
  EXPECT_EQ(descending.field(), "output.steps[1]");
  EXPECT_EQ(PredictAll({}, 0).summary.status().reason(), reason::STEP_INVALID);
}

}  // namespace
}  // namespace interlacer::testing
