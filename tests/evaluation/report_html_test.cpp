#include "evaluation/report_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/evaluation/page_checks.h"
#include "tests/evaluation/results_support.h"

namespace interlacer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHostileScript[] = "</table><script>alert('x')</script>";

ReportInput InputOf(const Results& results) {
  ReportInput input;
  input.title = "Evaluation";
  input.variants = {{"model", &results, std::string(kModelSubject), ""},
                    {"copy last frame", &results, std::string(kCopyLast), ""}};
  return input;
}

TEST(ReportHtml, StatesTheDifferenceWithItsInterval) {
  const Results results = MakeResults(6, 8);
  const std::string page = ReportHtml(InputOf(results));
  ExpectSelfContained(page);
  EXPECT_THAT(page, HasSubstr("SSIM at step 8: model 0.8225"));
  EXPECT_THAT(page, HasSubstr("; copy last frame is better by 0.0775 ["));
  EXPECT_THAT(page, HasSubstr("Means over 6 episodes"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(ReportHtml, SaysWhenNoDifferenceIsShown) {
  const Results results = MakeResults(7, 0, -0.003);
  EXPECT_THAT(ReportHtml(InputOf(results)), HasSubstr("no difference is shown"));
}

// fm-39
TEST(ReportHtml, SurvivesNoEpisodeAndOneEpisode) {
  const Results none = MakeResults(0, 8);
  const std::string empty_page = ReportHtml(InputOf(none));
  ExpectSelfContained(empty_page);
  EXPECT_THAT(empty_page, HasSubstr("no episode was evaluated"));
  const Results one = MakeResults(1, 3);
  const std::string page = ReportHtml(InputOf(one));
  ExpectSelfContained(page);
  EXPECT_THAT(page, HasSubstr("Means over 1 episode, too few for intervals."));
}

// fm-39
TEST(ReportHtml, UnequalLengthsAndNullMetricsLeaveGaps) {
  const Results longer = MakeResults(3, 5), shorter = MakeResults(2, 2);
  ReportInput input = InputOf(longer);
  input.variants[1] = {"shorter", &shorter, std::string(kModelSubject), ""};
  const std::string page = ReportHtml(input);
  ExpectSelfContained(page);
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, HasSubstr("\xE2\x80\x93"));
}

// fm-39
TEST(ReportHtml, EveryNameIsEscaped) {
  Results results = MakeResults(2, 1);
  results.dataset_name = results.command = results.device = kHostileScript;
  results.model["name"] = kHostileScript;
  results.failures.push_back({kHostileScript, kHostileScript, kHostileScript});
  results.warnings[kHostileScript] = 1;
  for (ResultValue& value : results.values) {
    value.episode += kHostileScript;
    value.camera = kHostileScript;
  }
  ReportInput input = InputOf(results);
  input.title = input.variants[0].name = input.command = kHostileScript;
  input.warnings.push_back(kHostileScript);
  const std::string page = ReportHtml(input);
  ExpectSelfContained(page);
  EXPECT_THAT(page, Not(HasSubstr("alert('x')")));
  EXPECT_THAT(page, HasSubstr("class=\"warning\""));
}

}  // namespace
}  // namespace interlacer
