#include "model/training/motion_regularization.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

/// What is smoothed at zero differs from the plain length by this at most.
constexpr double kSmoothingM = 1e-3;

torch::Tensor RandomCloud(std::int64_t count) {
  at::manual_seed(7);
  return 0.2 * at::rand({count, 3}, at::kFloat);
}

double DistanceM(const torch::Tensor& cloud, std::int64_t i, std::int64_t j) {
  return (cloud[i] - cloud[j]).to(at::kDouble).norm().item<double>();
}

/// The same mean, pair by pair.
double SlowStretchM(const torch::Tensor& observed, const torch::Tensor& moved) {
  double sum_m = 0;
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < observed.size(0); ++i) {
    std::vector<std::pair<double, std::int64_t>> others;
    for (std::int64_t j = 0; j < observed.size(0); ++j) {
      if (j != i) others.push_back({DistanceM(observed, i, j), j});
    }
    std::sort(others.begin(), others.end());
    others.resize(std::min<std::size_t>(others.size(), Stretch::kNeighborCount));
    for (const auto& [distance_m, j] : others) {
      sum_m += std::min(Stretch::kMostM, std::abs(DistanceM(moved, i, j) - distance_m));
      ++pairs;
    }
  }
  return pairs > 0 ? sum_m / static_cast<double>(pairs) : 0;
}

TEST(Stretch, IsTheMeanChangeOfNeighboursDistances) {
  const torch::Tensor observed = RandomCloud(40);
  const torch::Tensor moved = observed + 0.1 * RandomCloud(40).roll(3, 0);
  EXPECT_NEAR(Stretch(observed).Mean(moved).item<double>(), SlowStretchM(observed, moved),
              kFloatPlaceToleranceM);
}

TEST(Stretch, RigidMotionIsFree) {
  const torch::Tensor observed = RandomCloud(40);
  const double angle = 0.7;
  const torch::Tensor turn = at::tensor({std::cos(angle), -std::sin(angle), 0.0, std::sin(angle),
                                         std::cos(angle), 0.0, 0.0, 0.0, 1.0},
                                        at::kFloat)
                                 .reshape({3, 3});
  EXPECT_NEAR(Stretch(observed).Mean(at::matmul(observed, turn) + 0.3).item<double>(), 0,
              kFloatPlaceToleranceM);
}

TEST(Stretch, NeighboursThatPartCostNoMoreThanTheMost) {
  const torch::Tensor observed = at::tensor({0.f, 0.f, 0.f, 0.01f, 0.f, 0.f}).reshape({2, 3});
  const torch::Tensor parted = at::tensor({0.f, 0.f, 0.f, 5.f, 0.f, 0.f}).reshape({2, 3});
  EXPECT_NEAR(Stretch(observed).Mean(parted).item<double>(), Stretch::kMostM,
              kFloatPlaceToleranceM);
}

TEST(Stretch, EmptyAndSingleCloudsAreFree) {
  for (const std::int64_t count : {0, 1}) {
    const torch::Tensor cloud = at::ones({count, 3}, at::kFloat).requires_grad_();
    const torch::Tensor mean = Stretch(cloud).Mean(cloud);
    EXPECT_EQ(mean.item<double>(), 0) << count;
    mean.backward();
    EXPECT_TRUE(cloud.grad().eq(0).all().item<bool>());
  }
}

TEST(Stretch, CoincidingParticlesHaveFiniteGradients) {
  torch::Tensor cloud = at::zeros({5, 3}, at::kFloat).requires_grad_();
  Stretch(cloud).Mean(cloud).backward();
  EXPECT_TRUE(cloud.grad().isfinite().all().item<bool>());
}

TEST(Stretch, GradientOfPositions) {
  const torch::Tensor observed = RandomCloud(9).to(at::kDouble);
  const torch::Tensor moved = observed + 0.02 * RandomCloud(9).roll(2, 0).to(at::kDouble);
  const Stretch stretch(observed.to(at::kFloat));
  ExpectGradientsMatch([&](const std::vector<torch::Tensor>& x) { return stretch.Mean(x[0]); },
                       {moved}, kRegularizationGradientTolerance);
}

TEST(MotionRegularization, AreMeanLengthsAndZeroForWhatStays) {
  const CloudTensors from{RandomCloud(6), at::rand({6, 4})};
  EXPECT_EQ(MeanDisplacement(from, from).item<double>(), 0);
  EXPECT_EQ(MeanFeatureChange(from, from).item<double>(), 0);
  const torch::Tensor shift = at::tensor({0.3f, 0.f, 0.4f});
  const CloudTensors to{from.positions_m + shift, from.features + 1};
  EXPECT_NEAR(MeanDisplacement(from, to).item<double>(), 0.5, kSmoothingM);
  EXPECT_NEAR(MeanFeatureChange(from, to).item<double>(), 2, 10 * kSmoothingM);
}

}  // namespace
}  // namespace interlacer::testing
