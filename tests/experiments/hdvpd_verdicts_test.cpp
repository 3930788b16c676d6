#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
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
    run.is_flat = true;
  }
  const auto is_trained = [&] { return AreTrainedToTheEnd(runs, "a", 5); };
  EXPECT_TRUE(is_trained());
  runs[0].is_flat = false;
  EXPECT_TRUE(is_trained());
  runs[1].is_flat = false;
  EXPECT_FALSE(is_trained());
  runs[1].is_flat = runs[1].has_diverged = true;
  EXPECT_FALSE(is_trained()) << "one diverged, one not flat";
  runs[0].is_flat = true;
  EXPECT_TRUE(is_trained()) << "one diverged";
  runs[1].has_diverged = false;
  runs.pop_back();
  EXPECT_TRUE(is_trained()) << "one is not there";
  runs.pop_back();
  EXPECT_FALSE(is_trained()) << "two are not there";
  EXPECT_TRUE(AreTrainedToTheEnd(runs, "a", 3)) << "all of three";
}

TEST(StepToReach, IsTheFirstValidationAtOrBelowTheTarget) {
  const std::vector<LoggedLoss> losses{{10, 0.5}, {20, 0.3}, {30, 0.4}, {40, 0.2}};
  EXPECT_EQ(StepToReach(losses, 0.3), 20);
  EXPECT_EQ(StepToReach(losses, 0.25), 40);
  EXPECT_FALSE(StepToReach(losses, 0.1));
  EXPECT_FALSE(StepToReach({}, 1));
}

const PlannedClaims kPlanned{std::string(kSsim), {"grf_exact", "message_passing", "unmasked"}, 2};

class ClaimsTest : public testing::FakeStudyTest {};

TEST_F(ClaimsTest, PrimaryOnesAreOfTheFirstVariantAndCorrectedForTheirNumber) {
  // Seeds 0 and 1: message passing 0.003 nearer in the second one, which makes a deviation.
  fake_.seed_offset[{"message_passing", 1}] = 0.003;
  fake_.WritePieces();
  const Study study = ReadStudy();
  const auto claims = CheckClaims(study, kPlanned);
  ASSERT_GE(claims.size(), 3u);
  EXPECT_TRUE(claims[0].is_primary && claims[1].is_primary);
  EXPECT_FALSE(claims[2].is_primary) << "message passing and unmasked";
  EXPECT_EQ(claims[0].a.subject.variant, "grf_exact");
  EXPECT_EQ(claims[0].b.subject.variant, "message_passing");
  EXPECT_EQ(claims[1].b.subject.variant, "unmasked");
  // 0.01 and 0.007, deviation 0.003 / sqrt(2), one degree of freedom, confidence 1 - 0.05 / 2:
  // half width 25.452 * 0.0015.
  EXPECT_NEAR(claims[0].difference->difference.mean, 0.0085, testing::kDoubleSumTolerance);
  ASSERT_TRUE(claims[0].over_runs);
  EXPECT_NEAR(claims[0].over_runs->high - 0.0085, 25.452 * 0.0015, 1e-5);
  EXPECT_EQ(claims[0].verdict, Verdict::kUndecided) << "two runs that differ";
  // Both runs of the pair are 0.02 apart on every episode.
  EXPECT_EQ(claims[1].verdict, Verdict::kHolds);
  EXPECT_FALSE(claims[0].share) << "no oracle was scored";
  for (const Claim& claim : claims) {
    if (claim.b.name != claims[0].b.name) continue;
    ASSERT_TRUE(claim.over_runs);
    const double half = 25.452 * 0.0015;
    EXPECT_NEAR(claim.over_runs->high - claim.over_runs->low, 2 * half, 2e-5)
        << claim.metric << ": the same intervals for every metric";
  }
}

TEST_F(ClaimsTest, APrimaryClaimIsThereWithoutTheRunsOfAVariant) {
  std::erase_if(fake_.runs, [](const TrainedRun& run) { return run.variant == "unmasked"; });
  const Study study = ReadStudy();
  const auto claims = CheckClaims(study, kPlanned);
  ASSERT_GE(claims.size(), 2u);
  EXPECT_EQ(claims[1].b.subject.variant, "unmasked");
  EXPECT_TRUE(claims[1].is_primary);
  EXPECT_EQ(claims[1].verdict, Verdict::kUndecided);
  EXPECT_THAT(ClaimVerdictText(claims[1]), HasSubstr("undecided (no figures of both"));
  EXPECT_EQ(DifferenceText(claims[1]), "–");
  StudyPageInput page;
  page.study = &study;
  page.claims = claims;
  ExpectSelfContained(StudyPageHtml(page));
  EXPECT_FALSE(StudyToJson(study, {}, claims)["claims"][1].contains("mean"));
}

TEST_F(ClaimsTest, ARolloutThatFailedLeavesItsVariantUndecided) {
  const auto pieces = ListPieces(fake_.setup, fake_.runs, fake_.episodes.readable);
  const auto failed = std::find_if(pieces.begin(), pieces.end(), [](const Piece& piece) {
    return piece.run->variant == "unmasked";
  });
  ASSERT_NE(failed, pieces.end());
  std::filesystem::remove(PiecePath(fake_.setup, *failed));
  ASSERT_TRUE(WriteFailure(fake_.setup, *failed,
                           FailedPrecondition(reason::PREDICTION_NOT_FINITE, "not finite"))
                  .ok());
  const Study study = ReadStudy();
  EXPECT_EQ(study.EpisodeCount(EpisodeGroup::kMoving), 2) << "of three";
  for (const Claim& claim : CheckClaims(study, kPlanned)) {
    const bool has_failed = claim.b.subject.variant == "unmasked";
    EXPECT_EQ(claim.verdict, has_failed ? Verdict::kUndecided : Verdict::kHolds);
    EXPECT_EQ(claim.note, has_failed ? "failed rollouts of unmasked" : "");
  }

  // That of a run that takes no part leaves nothing out and decides nothing.
  for (TrainedRun& run : fake_.runs) run.has_diverged = run.name() == failed->run->name();
  const Study rest = ReadStudy();
  EXPECT_EQ(rest.EpisodeCount(EpisodeGroup::kMoving), 3);
  for (const Claim& claim : CheckClaims(rest, {std::string(kSsim), kPlanned.variants, 1})) {
    EXPECT_EQ(claim.note, "");
  }
}

TEST_F(ClaimsTest, RunsThatWereStoppedEarlyDecideNothing) {
  for (TrainedRun& run : fake_.runs) run.is_flat = run.variant != "unmasked";
  const Study study = ReadStudy();
  for (const Claim& claim : CheckClaims(study, kPlanned)) {
    const bool has_unfinished = claim.b.subject.variant == "unmasked";
    EXPECT_EQ(claim.verdict, has_unfinished ? Verdict::kUndecided : Verdict::kHolds);
    EXPECT_EQ(claim.note.empty(), !has_unfinished);
  }
}

TEST_F(ClaimsTest, PageAndRecordSayWhatHolds) {
  const Study study = ReadStudy();
  StudyPageInput page;
  page.study = &study;
  page.claims = CheckClaims(study, kPlanned);
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
