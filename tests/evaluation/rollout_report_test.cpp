/// The page of one prediction, of pictures and numbers made up here.

#include "evaluation/rollout_report.h"

#include <gtest/gtest.h>

#include <string>

#include "evaluation/frame_strip.h"
#include "tests/evaluation/page_checks.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/matchers.h"

namespace interlacer {
namespace {

RgbImage Grey(std::uint8_t level) {
  return {16, 12, std::vector<std::uint8_t>(3 * 16 * 12, level)};
}

TEST(DifferenceImage, ItsScaleIsThatOfTheCaption) {
  const RgbImage levels{4, 1, {90, 90, 90, 90, 58, 90, 90, 90, 154, 255, 90, 90}};
  const RgbImage same{4, 1, std::vector<std::uint8_t>(12, 90)};
  const std::vector<std::uint8_t> white_to_red{255, 255, 255, 246, 160, 90, 103, 0, 13, 103, 0, 13};
  const auto difference = DifferenceImage(levels, same);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->pixels, white_to_red) << "0, 32, 64 and 165 grey levels";
  EXPECT_EQ(DifferenceScaleText(),
            "from white (equal) to dark red (64 of 255 grey levels and more)");
}

class RolloutReport : public ::testing::Test {
 protected:
  RolloutReport() {
    task_.step_count = 1;
    task_.targets.push_back({"left", 0, true, 16, 12});
    for (const int step : {0, 1}) {
      evaluation_.views.push_back({"left",
                                   true,
                                   step,
                                   Grey(90),
                                   {{std::string(kModelSubject), Grey(100)}},
                                   {{std::string(kModelSubject), std::string(kSsim), 0.9, ""}}});
    }
  }
  std::string Page() const {
    RolloutReportInput input;
    input.manifest = &manifest_;
    input.task = &task_;
    input.evaluation = &evaluation_;
    input.metadata = &metadata_;
    return RolloutReportHtml(input);
  }

  const ModelMetadata metadata_ = testing::FakeMetadata();
  const EpisodeManifest manifest_;
  PredictionTask task_;
  EpisodeEvaluation evaluation_;
};

TEST_F(RolloutReport, SaysWhatTheColoursOfADifferenceMean) {
  const std::string page = Page();
  ExpectSelfContained(page);
  EXPECT_THAT(page, HasSubstr("Difference to the truth: " + DifferenceScaleText()));
  EXPECT_THAT(page, HasSubstr("1 step later the prediction has 0.900"));
}

TEST_F(RolloutReport, WithoutATruthThereIsNoDifference) {
  for (EvaluatedView& view : evaluation_.views) {
    view.truth.reset();
    view.scores.clear();
  }
  const std::string page = Page();
  ExpectSelfContained(page);
  EXPECT_THAT(page, Not(HasSubstr("Difference to the truth")));
  EXPECT_THAT(page, HasSubstr("No true frames to compare with"));
}

}  // namespace
}  // namespace interlacer
