/// Errors by predicted spread.

#include "evaluation/spread_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>

#include "evaluation/report_html.h"
#include "tests/evaluation/results_support.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

std::optional<double> ScoreOf(const std::vector<ViewScore>& scores, std::size_t bin) {
  for (const ViewScore& score : scores) {
    if (score.metric == SpreadMetric(bin)) return score.value;
  }
  ADD_FAILURE() << "no score of bin " << bin;
  return std::nullopt;
}

TEST(SpreadScores, BinsHaveNamesInTheirOrder) {
  EXPECT_EQ(SpreadMetric(0), "l2_m@spread:0.000-0.001");
  EXPECT_EQ(SpreadMetric(6), "l2_m@spread:0.050-");
  for (std::size_t bin = 1; bin < std::size(kSpreadEdgesM); ++bin) {
    EXPECT_LT(SpreadMetric(bin - 1), SpreadMetric(bin));
  }
}

TEST(SpreadScores, EachParticleCountsInItsBin) {
  std::vector<float> spreads_m;
  std::vector<double> errors_m;
  for (int i = 0; i < 5; ++i) {
    spreads_m.insert(spreads_m.end(), {0.f, 0.0015f, 0.5f});
    errors_m.insert(errors_m.end(), {0.001 * i, 0.01, 0.2});
  }
  const auto scores = ScoreSpread(kModelSubject, spreads_m, errors_m);
  EXPECT_EQ(scores.size(), std::size(kSpreadEdgesM));
  EXPECT_NEAR(*ScoreOf(scores, 0), 0.002, testing::kFloatSumTolerance);
  EXPECT_NEAR(*ScoreOf(scores, 1), 0.01, testing::kFloatSumTolerance);
  EXPECT_NEAR(*ScoreOf(scores, 6), 0.2, testing::kFloatSumTolerance);
  EXPECT_FALSE(ScoreOf(scores, 2));
}

TEST(SpreadScores, FewParticlesAndThoseOfArmsGiveNoScore) {
  std::vector<float> spreads_m(9, 0.003f);
  std::vector<double> errors_m(9, 0.01);
  for (std::size_t i = 0; i < 5; ++i) errors_m[i] = std::nan("");
  const auto scores = ScoreSpread(kModelSubject, spreads_m, errors_m);
  EXPECT_FALSE(ScoreOf(scores, 2));
  EXPECT_EQ(scores[2].reason, "fewer than 5 particles");
}

TEST(SpreadScores, NoParticles) {
  for (const ViewScore& score : ScoreSpread(kModelSubject, {}, {})) EXPECT_FALSE(score.value);
}

TEST(SpreadScores, TheReportShowsACurveOnlyWhereASpreadWasAskedFor) {
  Results results = MakeResults(3, 2);
  ReportInput input{"report", {{"model", &results, std::string(kModelSubject), ""}}, {}, "", ""};
  EXPECT_EQ(ReportHtml(input).find("How sure the model is"), std::string::npos);
  for (int e = 0; e < 3; ++e) {
    for (const int step : {1, 2}) {
      AddValue(&results, kModelSubject, "episode_" + std::to_string(e), step, SpreadMetric(2),
               0.01 * step + 0.001 * e);
    }
  }
  const std::string page = ReportHtml(input);
  EXPECT_NE(page.find("How sure the model is"), std::string::npos);
  EXPECT_NE(page.find("as large as the spread"), std::string::npos);
  EXPECT_NE(page.find("2 to 5 mm"), std::string::npos);
  EXPECT_NE(page.find("50 mm and more"), std::string::npos);
  EXPECT_NE(page.find("21.0 ["), std::string::npos);  // mean of the three at step 2
}

}  // namespace
}  // namespace interlacer
