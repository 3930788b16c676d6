#include "evaluation/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "common/random.h"
#include "tests/support/must.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

TEST(EstimateMean, KnownValues) {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  const auto estimate = EstimateMean(values);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->mean, 5, testing::kDoubleSumTolerance);
  EXPECT_NEAR(estimate->std_dev, std::sqrt(32.0 / 7), testing::kDoubleSumTolerance);
  EXPECT_EQ(estimate->n, 8);
  ASSERT_TRUE(estimate->interval);
  EXPECT_LT(estimate->interval->low, 5);
  EXPECT_GT(estimate->interval->high, 5);
}

TEST(EstimateMean, NothingAndOneEpisode) {
  EXPECT_FALSE(EstimateMean({}));
  const auto one = EstimateMean(std::vector<double>{0.7});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->mean, 0.7);
  EXPECT_EQ(one->n, 1);
  EXPECT_FALSE(one->interval);
}

TEST(EstimateMean, EqualValuesGiveAPointInterval) {
  const auto estimate = EstimateMean(std::vector<double>(5, 0.25));
  EXPECT_EQ(estimate->std_dev, 0);
  EXPECT_EQ(estimate->interval->low, 0.25);
  EXPECT_EQ(estimate->interval->high, 0.25);
}

TEST(EstimateMean, SameSeedSameInterval) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(std::sin(i * i));
  const auto a = EstimateMean(values);
  const auto b = EstimateMean(values);
  EXPECT_EQ(a->interval->low, b->interval->low);
  EXPECT_EQ(a->interval->high, b->interval->high);
  BootstrapOptions other;
  other.seed = 1;
  const auto c = EstimateMean(values, other);
  EXPECT_TRUE(c->interval->low != a->interval->low || c->interval->high != a->interval->high);
}

TEST(EstimateRunMean, OneRunIsAListOfEpisodes) {
  const std::vector<double> values{0.2, 0.5, 0.4, 0.9};
  const auto alone = EstimateMean(values);
  const auto run = EstimateRunMean({values});
  EXPECT_EQ(run->mean, alone->mean);
  EXPECT_EQ(run->interval->low, alone->interval->low);
  EXPECT_EQ(run->interval->high, alone->interval->high);
  EXPECT_FALSE(EstimateRunMean({}));
  EXPECT_FALSE(EstimateRunMean({{}, {}}));
}

// Three runs, each 0.1 beside the next on every episode: episodes agree, runs do not, and an
// interval over episodes alone would be a point. 1/27 of the draws take one run three times, which
// is more than 2.5 %.
TEST(EstimateRunMean, RunsThatDifferWidenTheInterval) {
  const RunValues runs{std::vector<double>(8, 0.4), std::vector<double>(8, 0.5),
                       std::vector<double>(8, 0.6)};
  const auto estimate = EstimateRunMean(runs);
  EXPECT_NEAR(estimate->mean, 0.5, testing::kDoubleSumTolerance);
  EXPECT_EQ(estimate->n, 8);
  EXPECT_NEAR(estimate->std_dev, 0, testing::kDoubleSumTolerance);
  EXPECT_NEAR(estimate->interval->low, 0.4, testing::kDoubleSumTolerance);
  EXPECT_NEAR(estimate->interval->high, 0.6, testing::kDoubleSumTolerance);
}

// What a seed does to both variants alike is no difference between them.
TEST(ComparePairedRuns, RunsArePairedBySeed) {
  const RunValues a{{0.5, 0.7}, {0.8, 1.0}}, b{{0.4, 0.6}, {0.7, 0.9}};
  const auto paired = Must(ComparePairedRuns(a, b));
  EXPECT_EQ(paired.wins, 2);
  EXPECT_NEAR(paired.difference.interval->low, 0.1, testing::kDoubleSumTolerance);
  EXPECT_NEAR(paired.difference.interval->high, 0.1, testing::kDoubleSumTolerance);
}

TEST(ComparePairedRuns, CountsRunsThatAgreeInSign) {
  const auto paired = Must(ComparePairedRuns({{1, 3}, {5, 2}, {2, 2}}, {{2, 1}, {1, 1}, {2, 2}}));
  EXPECT_EQ(paired.run_count, 3);
  EXPECT_EQ(paired.runs_above, 2);
  EXPECT_EQ(paired.runs_below, 0);
}

TEST(ComparePairedRuns, StudentsIntervalIsOverTheRunsMeans) {
  // Differences of the runs' means 0.044, 0.053, 0.100: mean 0.0657, standard error 0.01736.
  const auto paired =
      ComparePairedRuns({{.044, .044}, {.053, .053}, {.1, .1}}, {{0, 0}, {0, 0}, {0, 0}});
  ASSERT_TRUE(paired.ok() && paired->over_runs);
  EXPECT_NEAR(paired->over_runs->low, -0.0090, 1e-4);
  EXPECT_NEAR(paired->over_runs->high, 0.1403, 1e-4);
  EXPECT_TRUE(paired->over_runs->Contains(0));
  EXPECT_FALSE(ComparePairedRuns({{1, 2}}, {{0, 0}})->over_runs) << "one run";
}

TEST(StudentInterval, HasTheQuantilesOfPrintedTables) {
  struct Row {
    int count;
    double confidence, quantile;
  };
  for (const Row& row : {Row{2, .95, 12.706}, Row{3, .95, 4.303}, Row{5, .95, 2.776},
                         Row{5, .99, 4.604}, Row{6, .9, 2.015}, Row{31, .95, 2.042}}) {
    std::vector<double> values(static_cast<std::size_t>(row.count), 1);
    values[0] = 3;
    const double n = row.count, mean = 1 + 2 / n;
    double squares = 0;
    for (const double v : values) squares += (v - mean) * (v - mean);
    const double error = std::sqrt(squares / (n - 1) / n);
    const auto interval = StudentInterval(values, row.confidence);
    ASSERT_TRUE(interval);
    EXPECT_NEAR((interval->high - mean) / error, row.quantile, 5e-4) << row.count;
    EXPECT_NEAR((mean - interval->low) / error, row.quantile, 5e-4) << row.count;
  }
  EXPECT_FALSE(StudentInterval(std::vector<double>{1}));
}

TEST(ComparePairedRuns, RefusesListsThatDoNotPair) {
  EXPECT_EQ(ComparePairedRuns({{1}, {2}}, {{1}}).status().reason(), reason::SHAPE_MISMATCH);
  EXPECT_EQ(ComparePairedRuns({{1}, {2, 3}}, {{1}, {2, 3}}).status().reason(),
            reason::SHAPE_MISMATCH);
  EXPECT_EQ(ComparePairedRuns({}, {}).status().reason(), reason::SHAPE_MISMATCH);
}

// The bootstrap interval of a normal sample is close to mean +- 1.96 s / sqrt(n).
TEST(EstimateMean, IntervalAgreesWithTheNormalOne) {
  constexpr int kCount = 400;
  constexpr double kShareOfWidth = 0.12;  // quantile noise of 2000 draws, 4 standard errors
  RandomSequence random(7, RandomStream::kDataGeneration);
  std::vector<double> values;
  for (int i = 0; i < kCount; ++i) values.push_back(random.Normal());
  const auto estimate = EstimateMean(values);
  const double half_width = 1.959964 * estimate->std_dev / std::sqrt(kCount);
  EXPECT_NEAR(estimate->interval->low, estimate->mean - half_width, kShareOfWidth * half_width);
  EXPECT_NEAR(estimate->interval->high, estimate->mean + half_width, kShareOfWidth * half_width);
}

TEST(ComparePaired, CountsAndDifference) {
  const std::vector<double> a{1, 2, 3, 4};
  const std::vector<double> b{0, 2, 4, 1};
  const auto paired = Must(ComparePaired(a, b));
  EXPECT_EQ(paired.wins, 2);
  EXPECT_EQ(paired.losses, 1);
  EXPECT_EQ(paired.ties, 1);
  EXPECT_NEAR(paired.difference.mean, 0.75, testing::kDoubleSumTolerance);
}

TEST(ComparePaired, RefusesUnequalOrEmptyLists) {
  const auto unequal = ComparePaired(std::vector<double>{1}, std::vector<double>{1, 2});
  EXPECT_EQ(unequal.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(unequal.status().reason(), reason::SHAPE_MISMATCH);
  EXPECT_FALSE(ComparePaired({}, {}).ok());
}

TEST(EstimateRatio, IsTheQuotientOfTheMeans) {
  const auto ratio = EstimateRatio(std::vector<Fraction>{{1, 2}, {2, 6}, {0, 0}, {1, 2}});
  ASSERT_TRUE(ratio);
  EXPECT_EQ(ratio->ratio, 4. / 10);
  EXPECT_EQ(ratio->n, 4);
  // A draw in sixteen has the quotient of the second alone, one in three has none of it.
  EXPECT_EQ(ratio->interval->low, 1. / 3);
  EXPECT_EQ(ratio->interval->high, 1. / 2);
}

TEST(EstimateRatio, NothingWhereTheSignOfTheDenominatorIsOpen) {
  EXPECT_FALSE(EstimateRatio(std::vector<Fraction>{{1, 1}, {1, -1}, {1, 1}}));
  EXPECT_FALSE(EstimateRatio(std::vector<Fraction>{{1, 1}, {1, 0}})) << "a draw in four";
  const auto negative = EstimateRatio(std::vector<Fraction>{{1, -2}, {1, -2}});
  ASSERT_TRUE(negative);
  EXPECT_EQ(negative->ratio, -0.5);
}

TEST(EstimateRatio, EqualQuotientsGiveAPointInterval) {
  const auto ratio = EstimateRatio(std::vector<Fraction>{{1, 2}, {2, 4}, {4, 8}});
  EXPECT_EQ(ratio->interval->low, 0.5);
  EXPECT_EQ(ratio->interval->high, 0.5);
}

TEST(EstimateRatio, NothingOneEpisodeAndNothingToWin) {
  EXPECT_FALSE(EstimateRatio({}));
  EXPECT_FALSE(EstimateRatio(std::vector<Fraction>{{1, 0}, {1, 0}}));
  const auto one = EstimateRatio(std::vector<Fraction>{{1, 4}});
  EXPECT_EQ(one->ratio, 0.25);
  EXPECT_FALSE(one->interval);
}

TEST(Percentile, OfWhatNeverHappensIsInfinite) {
  const double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Percentile({100, 110, 120, never, never}, 0.5), 120);
  EXPECT_EQ(Percentile({100, 110, never, never, never}, 0.5), never);
  EXPECT_EQ(Percentile({100, never, never, never}, 0.5), never);
  EXPECT_EQ(Percentile({100, 110, never, never}, 0.5), never);
}

TEST(Percentile, InterpolatesBetweenOrderStatistics) {
  EXPECT_FALSE(Percentile({}, 0.5));
  EXPECT_EQ(*Percentile({3}, 0.99), 3);
  EXPECT_NEAR(*Percentile({4, 1, 3, 2}, 0.5), 2.5, testing::kDoubleSumTolerance);
  EXPECT_EQ(*Percentile({4, 1, 3, 2}, 0), 1);
  EXPECT_EQ(*Percentile({4, 1, 3, 2}, 1), 4);
  EXPECT_NEAR(*Percentile({0, 10}, 0.9), 9, testing::kDoubleSumTolerance);
}

}  // namespace
}  // namespace interlacer
