#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "experiments/planner/ranking.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

MotionOutcome Motion(const Vec3d& predicted_m, const Vec3d& true_m) {
  return {"motion", predicted_m, true_m};
}

TEST(SpearmanCorrelation, IsTheCorrelationOfRanks) {
  const std::vector<double> a{1, 2, 3, 4, 5};
  const std::vector<double> same{10, 20, 1000, 1001, 9000}, reversed{5, 4, 3, 2, 1};
  EXPECT_NEAR(*SpearmanCorrelation(a, same), 1, testing::kDoubleSumTolerance);
  EXPECT_NEAR(*SpearmanCorrelation(a, reversed), -1, testing::kDoubleSumTolerance);
  // One exchange: 1 - 6 * (1 + 1) / (5 * 24).
  const std::vector<double> exchanged{1, 3, 2, 4, 5};
  EXPECT_NEAR(*SpearmanCorrelation(a, exchanged), 0.9, testing::kDoubleSumTolerance);
}

TEST(SpearmanCorrelation, TiesShareTheirMeanRank) {
  // Ranks 1.5 1.5 3 4 against 1 2 3 4: covariance 4.5, variances 4.5 and 5.
  const std::vector<double> a{7, 7, 8, 9}, b{1, 2, 3, 4};
  EXPECT_NEAR(*SpearmanCorrelation(a, b), 4.5 / std::sqrt(4.5 * 5), testing::kDoubleSumTolerance);
}

TEST(SpearmanCorrelation, IsAbsentWithoutTwoDifferentValues) {
  const std::vector<double> none, one{1}, flat{2, 2, 2}, b{1, 2, 3};
  EXPECT_FALSE(SpearmanCorrelation(none, none));
  EXPECT_FALSE(SpearmanCorrelation(one, one));
  EXPECT_FALSE(SpearmanCorrelation(flat, b));
  EXPECT_FALSE(SpearmanCorrelation(b, flat));
}

TEST(RankMotions, APerfectModelChoosesTheBest) {
  const std::vector<Vec3d> ends{{0.1, 0, 0}, {0, 0.12, 0}, {-0.02, 0, 0}, {0, -0.2, 0}};
  std::vector<MotionOutcome> motions;
  for (const Vec3d& end : ends) motions.push_back(Motion(end, end));
  const SceneRanking ranking = RankMotions("scene", motions);
  EXPECT_NEAR(*ranking.travel_correlation, 1, testing::kDoubleSumTolerance);
  EXPECT_NEAR(*ranking.goal_correlation, 1, testing::kDoubleSumTolerance);
  EXPECT_NEAR(ranking.chosen_m, ranking.best_m, testing::kDoubleSumTolerance);
  EXPECT_LT(ranking.best_m, ranking.guessed_m);
  EXPECT_NEAR(ranking.mean_error_m, 0, testing::kDoubleSumTolerance);
}

TEST(RankMotions, AModelThatTurnsAllMotionsAroundChoosesTheWorst) {
  const std::vector<Vec3d> ends{{0.1, 0, 0}, {-0.1, 0, 0}};
  std::vector<MotionOutcome> motions;
  for (const Vec3d& end : ends) motions.push_back(Motion({-end[0], 0, 0}, end));
  const SceneRanking ranking = RankMotions("scene", motions);
  EXPECT_FALSE(ranking.travel_correlation) << "both go equally far";
  EXPECT_NEAR(*ranking.goal_correlation, -1, 1e-6);
  EXPECT_NEAR(ranking.mean_error_m, 0.2, testing::kDoubleSumTolerance);
  double chosen_m = 0, best_m = 0;
  for (int goal = 0; goal < kGoalCount; ++goal) {
    const double angle = 2 * M_PI * goal / kGoalCount;
    const double x = kGoalDistanceM * std::cos(angle), y = kGoalDistanceM * std::sin(angle);
    const double near = std::hypot(std::abs(x) - 0.1, y), far = std::hypot(std::abs(x) + 0.1, y);
    chosen_m += far / kGoalCount;
    best_m += near / kGoalCount;
  }
  // Two goals lie at equal distances from both ends.
  EXPECT_NEAR(ranking.best_m, best_m, 1e-6);
  EXPECT_NEAR(ranking.chosen_m, chosen_m, 1e-6);
  EXPECT_NEAR(ranking.guessed_m, (best_m + chosen_m) / 2, 1e-6);
}

TEST(RankMotions, TheNearestToolRanksWithoutAModel) {
  const std::vector<Vec3d> ends{{0.1, 0, 0}, {0, 0.12, 0}, {-0.02, 0, 0}, {0, -0.2, 0}};
  std::vector<MotionOutcome> motions;
  for (const Vec3d& end : ends) {
    motions.push_back(Motion({}, end));
    motions.back().tools_m = {{5, 5, 0}, end};  // one is far away, one beside the object
  }
  const SceneRanking ranking = RankMotions("scene", motions);
  EXPECT_GT(*ranking.tool_goal_correlation, 0.99);  // distances that are equal may round apart
  EXPECT_NEAR(*ranking.tool_chosen_m, ranking.best_m, testing::kDoubleSumTolerance);
  motions[1].tools_m.clear();
  const SceneRanking without = RankMotions("scene", motions);
  EXPECT_FALSE(without.tool_goal_correlation);
  EXPECT_FALSE(without.tool_chosen_m);
}

TEST(RankMotions, AModelThatMovesNothingHasNoRanks) {
  const SceneRanking ranking =
      RankMotions("scene", {Motion({}, {0.1, 0, 0}), Motion({}, {0, 0.1, 0})});
  EXPECT_FALSE(ranking.travel_correlation);
  EXPECT_FALSE(ranking.goal_correlation);
  EXPECT_NEAR(ranking.mean_error_m, 0.1, testing::kDoubleSumTolerance);
}

}  // namespace
}  // namespace interlacer
