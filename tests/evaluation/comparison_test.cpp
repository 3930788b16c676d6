#include "evaluation/comparison.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/evaluation/results_support.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

std::vector<Variant> TwoModels(const Results& a, const Results& b) {
  return {{"a", &a, std::string(kModelSubject), ""}, {"b", &b, std::string(kModelSubject), ""}};
}

TEST(CompareVariants, PairsEpisodesWithTheReference) {
  const Results a = MakeResults(4, 2), b = MakeResults(4, 2, -0.02);
  const auto scores = CompareVariants(TwoModels(a, b), kSsim, 1);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_FALSE(scores[0].difference);
  ASSERT_TRUE(scores[1].difference);
  EXPECT_NEAR(scores[1].difference->difference.mean, -0.02, testing::kScoreTolerance);
  EXPECT_EQ(scores[1].difference->losses, 4);
  EXPECT_EQ(scores[1].difference->wins, 0);
}

TEST(CompareVariants, OnlyCommonEpisodesArePaired) {
  const Results a = MakeResults(2, 1), b = MakeResults(5, 1);
  const auto scores = CompareVariants(TwoModels(a, b), kSsim, 0);
  EXPECT_EQ(scores[1].mean->n, 5);
  EXPECT_EQ(scores[1].difference->difference.n, 2);
}

/// Where one has no value, its mean would be of other steps than that of the other.
TEST(CompareVariants, PairsValuesThatBothHave) {
  Results a = MakeResults(2, 2), b = a;
  for (ResultValue& value : b.values) {
    if (value.subject == kModelSubject && value.metric == kPsnr && value.step == 0) {
      value.value.reset();
    }
  }
  const auto scores = CompareVariants(TwoModels(a, b), kPsnr, -1);
  EXPECT_NEAR(scores[0].mean->mean, 29, testing::kScoreTolerance);
  EXPECT_NEAR(scores[1].mean->mean, 28.5, testing::kScoreTolerance);
  EXPECT_EQ(scores[1].difference->difference.mean, 0);
  EXPECT_EQ(scores[1].difference->ties, 2);
  EXPECT_EQ(scores[1].left_out_count, 2);
  EXPECT_FALSE(CompareVariants(TwoModels(a, b), kPsnr, 0)[1].difference) << "no common value";
  EXPECT_EQ(CompareVariants(TwoModels(a, a), kPsnr, -1)[1].left_out_count, 0);
  std::erase_if(b.values, [](const ResultValue& value) { return value.step == 1; });
  EXPECT_EQ(CompareVariants(TwoModels(a, b), kSsim, -1)[1].difference->difference.mean, 0);
}

/// Rollouts of a static scene all start at step 0: of one camera in two of them the first goes with
/// the first, and the second with the second.
TEST(CompareVariants, PairsTheRolloutsOfAStaticSceneInTheirOrder) {
  Results a, b;
  for (const double value : {0.5, 0.7})
    AddValue(&a, kModelSubject, "room", 1, kSsim, value, "v", 0);
  AddValue(&b, kModelSubject, "room", 1, kSsim, std::nullopt, "v", 0);
  AddValue(&b, kModelSubject, "room", 1, kSsim, 0.75, "v", 0);
  const VariantScore score = CompareVariants(TwoModels(a, b), kSsim, 1)[1];
  EXPECT_NEAR(score.difference->difference.mean, 0.05, testing::kScoreTolerance);
  EXPECT_EQ(score.left_out_count, 1);
}

TEST(ShareOfMotion, IsOfValuesThatAllHave) {
  Results results = MakeResults(2, 2);
  for (const char* episode : {"episode_0", "episode_1"}) {
    for (const int step : {1, 2}) {
      AddValue(&results, kKinematicSubject, episode, step, kSsim, 0.85);
      AddValue(&results, kOracleMotion, episode, step, kSsim,
               step == 1 ? std::optional(0.95) : std::nullopt);
    }
  }
  // At step 1 the model has .89 and .891: .0405 of .1.
  const auto share = ShareOfMotion({"a", &results, std::string(kModelSubject), ""}, kSsim, -1);
  EXPECT_NEAR(share->ratio, 0.405, testing::kScoreTolerance);
}

TEST(ShareOfMotion, IsWhatIsWonOfWhatTrueMotionWins) {
  Results results = MakeResults(2, 1);
  const Variant model{"a", &results, std::string(kModelSubject), ""};
  EXPECT_FALSE(ShareOfMotion(model, kSsim, 1)) << "no true motion";
  for (const auto& [episode, still, moved] :
       {std::tuple{"episode_0", 0.85, 0.91}, std::tuple{"episode_1", 0.871, 0.911}}) {
    AddValue(&results, kKinematicSubject, episode, 1, kSsim, still);
    AddValue(&results, kOracleMotion, episode, 1, kSsim, moved);
  }
  AddValue(&results, kOracleMotion, "of_one_side_only", 1, kSsim, 1);
  // The model has .89 and .891: .04 of .06 and .02 of .04.
  const auto share = ShareOfMotion(model, kSsim, 1);
  ASSERT_TRUE(share);
  EXPECT_EQ(share->n, 2);
  EXPECT_NEAR(share->ratio, 0.6, testing::kScoreTolerance);
  EXPECT_NEAR(share->interval->low, 0.5, testing::kScoreTolerance);
  EXPECT_NEAR(share->interval->high, 2. / 3, testing::kScoreTolerance);
  EXPECT_FALSE(ShareOfMotion(model, kSsimObjects, 1)) << "no such scores";
  EXPECT_EQ(ComparisonToJson({model})["shares_of_motion"].size(), 2u) << "step 1, all steps";
}

TEST(CheckComparable, NamesTheFirstDifference) {
  const Results a = MakeResults(2, 1);
  Results b = a;
  EXPECT_TRUE(CheckComparable(a, b).ok());
  b.target_background = "none";
  EXPECT_EQ(CheckComparable(a, b).field(), "target background");
  b = a;
  b.episodes[1].manifest_sha256 = "other";
  EXPECT_EQ(CheckComparable(a, b).field(), "episodes");
}

TEST(CheckComparable, RefusesOtherRolloutsAndDefinitions) {
  Results a = MakeResults(2, 2);
  a.plan = {3, -1, {}, {}};
  const auto field_of = [&](const auto& change) {
    Results b = a;
    change(&b);
    return CheckComparable(a, b).field();
  };
  EXPECT_EQ(field_of([](Results* b) { b->step_count = 8; }), "steps");
  EXPECT_EQ(field_of([](Results* b) { b->plan->window_count = 1; }), "windows");
  EXPECT_EQ(field_of([](Results* b) { b->plan->start_step = 4; }), "start step");
  EXPECT_EQ(field_of([](Results* b) { b->plan->input_cameras = {"c", "d"}; }), "cameras");
  EXPECT_EQ(field_of([](Results* b) { b->plan->target_cameras = {"e"}; }), "target cameras");
  const std::string psnr(kPsnr);
  EXPECT_EQ(field_of([&](Results* b) { b->metrics[psnr]["definition"] = "other"; }),
            "definition of " + psnr);
  EXPECT_EQ(field_of([](Results*) {}), "");
}

TEST(CheckComparable, WhatAnEarlierFileLacksIsUnknown) {
  Results a = MakeResults(2, 2), earlier = a;
  a.plan = {3, -1, {}, {}};
  earlier.metrics.erase(std::string(kL2Moved));
  EXPECT_TRUE(CheckComparable(a, earlier).ok());
  EXPECT_TRUE(CheckComparable(earlier, a).ok());
}

TEST(FailRule, ParsesMetricStepAndThreshold) {
  const auto rule = Must(ParseFailRule("ssim@8 < -0.01"));
  EXPECT_EQ(rule.metric, kSsim);
  EXPECT_EQ(rule.step, 8);
  EXPECT_TRUE(rule.is_below);
  EXPECT_EQ(rule.threshold, -0.01);
  const auto all = Must(ParseFailRule("ssim_moving>0.5"));
  EXPECT_EQ(all.step, -1);
  EXPECT_FALSE(all.is_below);
}

TEST(FailRule, RefusesWhatItDoesNotUnderstand) {
  for (const char* text :
       {"", "ssim", "ssim <", "ssim@ < 1", "ssim@x < 1", "ssim@-1 < 1", "lpips < 0", "ssim < one",
        "< 3", "ssim < nan", "ssim > inf", "ssim@4294967304 < 1"}) {
    EXPECT_EQ(ParseFailRule(text).status().reason(), reason::ARGUMENT_INVALID) << text;
  }
}

TEST(FailRule, BreaksOnARegressionOnly) {
  const Results a = MakeResults(3, 2), worse = MakeResults(3, 2, -0.02);
  const FailRule rule = *ParseFailRule("ssim@2 < -0.01");
  EXPECT_THAT(*VariantsThatBreak(rule, TwoModels(a, worse)), ElementsAre("b"));
  EXPECT_THAT(*VariantsThatBreak(rule, TwoModels(worse, a)), IsEmpty());
  EXPECT_FALSE(VariantsThatBreak(*ParseFailRule("ssim@7 < 0"), TwoModels(a, worse)).ok());
}

TEST(FailRule, HoldsForEveryVariant) {
  const Results a = MakeResults(3, 2), same = a, worse = MakeResults(3, 2, -0.02);
  const Results shorter = MakeResults(3, 1);
  std::vector<Variant> variants = TwoModels(a, same);
  variants.push_back({"c", &worse, std::string(kModelSubject), ""});
  const FailRule rule = *ParseFailRule("ssim@2 < -0.01");
  EXPECT_THAT(*VariantsThatBreak(rule, variants), ElementsAre("c"));
  variants[2].results = &shorter;
  EXPECT_EQ(VariantsThatBreak(rule, variants).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace interlacer
