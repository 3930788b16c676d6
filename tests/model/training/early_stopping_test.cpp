#include "model/training/early_stopping.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace interlacer {
namespace {

bool FlatAfter(const std::vector<double>& losses, int window, double min_improvement) {
  return IsFlat(losses, {window, min_improvement});
}

TEST(IsFlat, ComparesTheMeansOfTwoWindows) {
  // Means 10 and 9.5: 5 % lower.
  const std::vector<double> losses{99, 11, 9, 10, 9};
  EXPECT_FALSE(FlatAfter(losses, 2, 0.04));
  EXPECT_TRUE(FlatAfter(losses, 2, 0.06));
}

TEST(IsFlat, AnImprovementOfExactlyTheShareIsNotEnough) {
  EXPECT_TRUE(FlatAfter({4, 3}, 1, 0.25));
  EXPECT_FALSE(FlatAfter({4, 3}, 1, 0.24));
}

TEST(IsFlat, ALossThatRisesIsFlat) { EXPECT_TRUE(FlatAfter({1, 2}, 1, 0)); }

TEST(IsFlat, NeverAfterLossesOfZero) {
  EXPECT_FALSE(FlatAfter({0, 0}, 1, 0.5));
  EXPECT_FALSE(FlatAfter({0, 0, 0, 1}, 2, 0.5));
  EXPECT_FALSE(FlatAfter({1, 0}, 1, 0.5)) << "an improvement";
}

TEST(IsFlat, NeedsTwoWholeWindows) {
  EXPECT_FALSE(FlatAfter({}, 1, 0.5));
  EXPECT_FALSE(FlatAfter({1, 1, 1}, 2, 0.5));
  EXPECT_TRUE(FlatAfter({1, 1, 1, 1}, 2, 0.5));
}

TEST(IsFlat, NeverWithoutAWindowOrWithALossThatIsNotFinite) {
  EXPECT_FALSE(FlatAfter({1, 1, 1, 1}, 0, 0.5));
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(FlatAfter({1, infinite}, 1, 0.5));
  EXPECT_FALSE(FlatAfter({infinite, 1}, 1, 0.5));
  EXPECT_FALSE(FlatAfter({1, std::numeric_limits<double>::quiet_NaN()}, 1, 0.5));
  EXPECT_TRUE(FlatAfter({infinite, 1, 1}, 1, 0.5)) << "long past";
}

}  // namespace
}  // namespace interlacer
