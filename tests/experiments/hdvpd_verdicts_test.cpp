#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "experiments/hdvpd/page.h"
#include "experiments/hdvpd/record.h"
#include "experiments/hdvpd/training_table.h"
#include "experiments/hdvpd/verdicts.h"
#include "tests/evaluation/page_checks.h"
#include "tests/experiments/hdvpd_support.h"
#include "tests/support/matchers.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

const Interval kAbove{0.1, 0.2}, kBelow{-0.2, -0.1}, kAcross{-0.1, 0.1};

TEST(Judge, BothIntervalsMustAgree) {
  EXPECT_EQ(Judge(kAbove, kAbove, true), Verdict::kHolds);
  EXPECT_EQ(Judge(kBelow, kBelow, true), Verdict::kDoesNotHold);
  for (const Interval& other : {kBelow, kAcross}) {
    EXPECT_EQ(Judge(kAbove, other, true), Verdict::kUndecided);
    EXPECT_EQ(Judge(other, kAbove, true), Verdict::kUndecided);
  }
  EXPECT_EQ(Judge(Interval{0, 1}, kAbove, true), Verdict::kUndecided) << "a bound at zero";
}

TEST(Judge, OfADistanceTheSmallerIsBetter) {
  EXPECT_EQ(Judge(kBelow, kBelow, false), Verdict::kHolds);
  EXPECT_EQ(Judge(kAbove, kAbove, false), Verdict::kDoesNotHold);
}

TEST(Judge, OneRunDecidesNothing) {
  EXPECT_EQ(Judge(std::nullopt, kAbove, true), Verdict::kUndecided);
  EXPECT_EQ(Judge(kAbove, std::nullopt, true), Verdict::kUndecided);
}

TEST(AreTrainedToTheEnd, OneRunOfFiveMayNotBeFlat) {
  std::vector<TrainedRun> runs(5);
  for (TrainedRun& run : runs) {
    run.variant = "a";
    run.training = {{"stop_when_flat", {{"window", 2}}}};
    run.is_flat = true;
  }
  EXPECT_TRUE(AreTrainedToTheEnd(runs, "a"));
  runs[0].is_flat = false;
  EXPECT_TRUE(AreTrainedToTheEnd(runs, "a"));
  runs[1].is_flat = false;
  EXPECT_FALSE(AreTrainedToTheEnd(runs, "a"));
  runs[1].has_diverged = true;
  EXPECT_FALSE(AreTrainedToTheEnd(runs, "a")) << "one of four";
  for (TrainedRun& run : runs) run.training = nlohmann::json::object();
  EXPECT_TRUE(AreTrainedToTheEnd(runs, "a")) << "no stopping rule";
}

TEST(StepToReach, IsTheFirstValidationAtOrBelowTheTarget) {
  const std::vector<LoggedLoss> losses{{10, 0, 0.5}, {20, 0, 0.3}, {30, 0, 0.4}, {40, 0, 0.2}};
  EXPECT_EQ(StepToReach(losses, 0.3), 20);
  EXPECT_EQ(StepToReach(losses, 0.25), 40);
  EXPECT_FALSE(StepToReach(losses, 0.1));
  EXPECT_FALSE(StepToReach({}, 1));
}

class ClaimsTest : public testing::FakeStudyTest {};

TEST_F(ClaimsTest, PrimaryOnesAreOfTheFirstVariantAndCorrectedForTheirNumber) {
  // Seeds 0 and 1: message passing 0.003 nearer in the second one, which makes a deviation.
  fake_.seed_offset[{"message_passing", 1}] = 0.003;
  fake_.WritePieces();
  const Study study = ReadStudy();
  const auto claims = CheckClaims(study, kSsim);
  ASSERT_GE(claims.size(), 3u);
  EXPECT_TRUE(claims[0].is_primary && claims[1].is_primary);
  EXPECT_FALSE(claims[2].is_primary) << "message passing and unmasked";
  EXPECT_EQ(claims[0].a.subject.variant, "grf_exact");
  EXPECT_EQ(claims[0].b.subject.variant, "message_passing");
  EXPECT_EQ(claims[1].b.subject.variant, "unmasked");
  // 0.01 and 0.007, deviation 0.003 / sqrt(2), one degree of freedom, confidence 1 - 0.05 / 2:
  // half width 25.452 * 0.0015.
  EXPECT_NEAR(claims[0].difference.difference.mean, 0.0085, testing::kDoubleSumTolerance);
  ASSERT_TRUE(claims[0].over_runs);
  EXPECT_NEAR(claims[0].over_runs->high - 0.0085, 25.452 * 0.0015, 1e-5);
  EXPECT_EQ(claims[0].verdict, Verdict::kUndecided) << "two runs that differ";
  // Both runs of the pair are 0.02 apart on every episode.
  EXPECT_EQ(claims[1].verdict, Verdict::kHolds);
  EXPECT_FALSE(claims[0].share) << "no oracle was scored";
}

TEST_F(ClaimsTest, RunsThatWereStoppedEarlyDecideNothing) {
  for (TrainedRun& run : fake_.runs) {
    run.training = {{"stop_when_flat", {{"window", 2}}}};
    run.is_flat = run.variant != "unmasked";
  }
  const Study study = ReadStudy();
  for (const Claim& claim : CheckClaims(study, kSsim)) {
    const bool has_unfinished = claim.b.subject.variant == "unmasked";
    EXPECT_EQ(claim.verdict, has_unfinished ? Verdict::kUndecided : Verdict::kHolds);
    EXPECT_EQ(claim.note.empty(), !has_unfinished);
  }
}

TEST_F(ClaimsTest, PageAndRecordSayWhatHolds) {
  const Study study = ReadStudy();
  StudyPageInput page;
  page.study = &study;
  page.claims = CheckClaims(study, kSsim);
  page.left_out = {"unmasked-7"};
  const std::string html = StudyPageHtml(page);
  ExpectSelfContained(html);
  EXPECT_THAT(html, HasSubstr("GRF better than message passing in SSIM: holds."));
  EXPECT_THAT(html, HasSubstr("The training of run unmasked-7 stopped"));
  const auto json = StudyToJson(study, {}, page.claims);
  EXPECT_EQ(json["claims"].size(), page.claims.size());
  EXPECT_EQ(json["claims"][0]["verdict"], "holds");
  EXPECT_EQ(json["claims"][0]["run_means"].size(), 2u);
  EXPECT_THAT(StudyToMarkdown(study, {}, page.claims), HasSubstr("GRF, unmasked (primary)"));
}

}  // namespace
}  // namespace interlacer
