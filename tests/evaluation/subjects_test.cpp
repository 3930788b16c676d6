#include "evaluation/subjects.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "evaluation/episode_evaluation.h"
#include "tests/evaluation/moving_block.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/matchers.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

/// Answers with views of one colour, 10 times the number of the call, and keeps what it was asked.
class RecordingBackend final : public RolloutBackend {
 public:
  struct Call {
    OutputOptions output;
    std::int64_t newest_time_ns = 0;
  };

  const ModelMetadata& metadata() const override { return metadata_; }
  const std::string& device_name() const override { return name_; }
  const std::string& location() const override { return name_; }
  StatusOr<RolloutSummary> Predict(const SceneInput& input, const ActionSequence&,
                                   const OutputOptions& output, const StepCallback& on_step,
                                   std::stop_token) override {
    calls.push_back({output, input.observations.back().views[0].capture_time_ns});
    if (output.motion == MotionSource::kRobotOnly && !refusal.ok()) return refusal;
    for (const int step : output.steps) {
      PredictedStep predicted;
      predicted.step = step;
      for (const RenderTarget& target : output.render_targets) {
        const std::size_t pixels =
            static_cast<std::size_t>(target.camera->width_px) * target.camera->height_px;
        RenderedView view{target.name, {}, {}};
        if (target.encoding == ViewEncoding::kRgb8) {
          view.color = {
              target.camera->width_px, target.camera->height_px,
              std::vector<std::uint8_t>(3 * pixels, static_cast<std::uint8_t>(10 * calls.size()))};
        } else {
          view.depth = {target.camera->width_px, target.camera->height_px,
                        std::vector<float>(pixels, 1)};
        }
        predicted.views.push_back(std::move(view));
      }
      INTERLACER_RETURN_IF_ERROR(on_step(std::move(predicted)));
    }
    return RolloutSummary{};
  }

  std::vector<Call> calls;
  Status refusal;

 private:
  const ModelMetadata metadata_ = testing::FakeMetadata(80, 60);
  const std::string name_ = "recording";
};

class AskedSubjects : public ::testing::Test {
 protected:
  EpisodeEvaluation Evaluate(std::vector<std::string> subjects, RenderMode mode) {
    PredictionRequest request;
    request.subjects = std::move(subjects);
    request.render_mode = mode;
    request.step_count = 1;
    request.robot = robot_;
    const EpisodeReader episode =
        testing::WriteMovingBlock(folder_.File("episode"), {.is_robot = true});
    const auto task = MakePredictionTask(episode, backend_.metadata(), request);
    INTERLACER_CHECK(task.ok(), task.status().ToString());
    auto evaluation = EvaluateEpisode(
        episode, *task, &backend_,
        [](const PredictedStep&, const std::vector<EvaluatedView>&) { return Status::Ok(); }, {});
    INTERLACER_CHECK(evaluation.ok(), evaluation.status().ToString());
    return *std::move(evaluation);
  }

  static std::vector<std::string> Shown(const EpisodeEvaluation& evaluation) {
    std::vector<std::string> subjects;
    for (const auto& [subject, picture] : evaluation.Find("left", 1)->pictures) {
      subjects.push_back(subject + "=" + std::to_string(picture.pixels[0]));
    }
    return subjects;
  }

  const TempFolder folder_;
  RecordingBackend backend_;
  std::shared_ptr<const Robot> robot_ = std::make_shared<const Robot>(testing::SlidingBlock());
};

TEST_F(AskedSubjects, EachAsksForItsMotionAndRendering) {
  const EpisodeEvaluation evaluation =
      Evaluate({"model", "model_field", "kinematic_field", "oracle_render"}, RenderMode::kObserved);
  ASSERT_EQ(backend_.calls.size(), 5u);  // true frames of steps 0 and 1 apart
  const auto mode = [&](std::size_t call) { return backend_.calls[call].output.render_mode; };
  const auto motion = [&](std::size_t call) { return backend_.calls[call].output.motion; };
  EXPECT_EQ(mode(0), RenderMode::kField);
  EXPECT_EQ(motion(0), MotionSource::kModel);
  EXPECT_EQ(mode(1), RenderMode::kObserved);
  EXPECT_EQ(motion(1), MotionSource::kRobotOnly);
  for (const std::size_t call : {2, 3}) {
    EXPECT_EQ(mode(call), RenderMode::kField);
    EXPECT_THAT(backend_.calls[call].output.steps, ElementsAre(0));
  }
  EXPECT_EQ(mode(4), RenderMode::kObserved);
  EXPECT_EQ(motion(4), MotionSource::kModel);
  EXPECT_THAT(backend_.calls[4].output.steps, ElementsAre(0, 1));
  EXPECT_THAT(Shown(evaluation),
              ElementsAre("model=50", "model_field=10", "kinematic_field=20", "oracle_render=40"));
}

TEST_F(AskedSubjects, TheFieldAloneIsNotAskedForTwice) {
  Evaluate({"model", "model_field"}, RenderMode::kField);
  EXPECT_EQ(backend_.calls.size(), 1u);
}

TEST_F(AskedSubjects, AModelThatCannotIsAbsentAndSaysWhy) {
  backend_.refusal = InvalidArgument(reason::ACTION_KIND, "this model holds no robot");
  const EpisodeEvaluation evaluation = Evaluate({"model", "kinematic_field"}, RenderMode::kField);
  EXPECT_THAT(Shown(evaluation), ElementsAre("model=20"));
  const auto& scores = evaluation.Find("left", 1)->scores;
  const auto absent = std::find_if(scores.begin(), scores.end(), [](const ViewScore& score) {
    return score.subject == kKinematicField;
  });
  ASSERT_NE(absent, scores.end());
  EXPECT_FALSE(absent->value);
  EXPECT_THAT(absent->reason, HasSubstr("holds no robot"));
}

TEST_F(AskedSubjects, WithoutARobotFolderTheModelIsNotAskedToMoveIt) {
  robot_ = nullptr;
  Evaluate({"model", "kinematic_field"}, RenderMode::kField);
  EXPECT_EQ(backend_.calls.size(), 1u);
}

TEST(Subjects, AreParsedInTheOrderOfTables) {
  const std::vector<std::string> some{"splat", "contact", "kinematic", "splat"}, all{"all"},
      bad{"copy"};
  EXPECT_THAT(*ParseSubjects(some), ElementsAre("kinematic", "contact", "splat"));
  EXPECT_EQ(ParseSubjects(all)->size(), kSubjects.size());
  const Status status = ParseSubjects(bad).status();
  EXPECT_EQ(status.reason(), reason::ARGUMENT_INVALID);
  EXPECT_THAT(status.message(), HasSubstr("copy_last"));
}

TEST(Subjects, SomeNeedNoModel) {
  const std::vector<std::string> none{"kinematic", "contact", "copy_last", "oracle_motion"};
  EXPECT_FALSE(NeedModel(none));
  EXPECT_TRUE(NeedModel(SubjectsOfOneRollout()));
  EXPECT_FALSE(Contains(SubjectsOfReports(), kOracleRender));
  EXPECT_TRUE(Contains(SubjectsOfReports(), kKinematicField));
  EXPECT_TRUE(Contains(SubjectsOfReports(), kContact));
}

/// The study scores these: its results are compared with those of earlier versions.
TEST(Subjects, OfOneRolloutStayThoseOfTheStudy) {
  EXPECT_THAT(SubjectsOfOneRollout(), ElementsAre("model", "kinematic", "copy_last",
                                                  "reconstruction", "splat", "oracle_motion"));
}

}  // namespace
}  // namespace interlacer
