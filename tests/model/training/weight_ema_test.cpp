#include "model/training/weight_ema.h"

#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <string>

#include "tests/model/training/tiny_run.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

class WeightEmaTest : public ::testing::Test {
 protected:
  void SetWeights(double value) {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& weight : model_.parameters()) weight.fill_(value);
  }
  double Weight() const { return model_.parameters().front().flatten()[0].item<double>(); }

  WorldModel model_{testing::TinyRun("", "", 1).config.model, {}};
};

TEST_F(WeightEmaTest, FollowsTheRecursion) {
  constexpr double kDecay = 0.5;
  SetWeights(100);
  WeightEma average(&model_, kDecay);
  double expected = 0;
  for (int n = 1; n <= 40; ++n) {
    SetWeights(n);
    average.Update(n);
    const double decay = std::min(kDecay, (n - 1.0) / (n + 9.0));
    expected = decay * expected + (1 - decay) * n;
  }
  average.Swap();
  EXPECT_NEAR(Weight(), expected, testing::kFloatSumTolerance * expected);
  average.Swap();
  EXPECT_EQ(Weight(), 40);
}

TEST_F(WeightEmaTest, SettledParametersTakeTheirAverage) {
  SetWeights(2);
  WeightEma average(&model_, 0.9);
  SetWeights(7);
  const std::string first = model_.named_parameters()[0].key();
  average.Settle([&](const std::string& name) { return name == first; });
  for (const auto& item : model_.named_parameters()) {
    EXPECT_TRUE(item.value().eq(item.key() == first ? 2 : 7).all().item<bool>()) << item.key();
  }
}

TEST_F(WeightEmaTest, StateIsTheWeightsInTrainingAndMustFit) {
  SetWeights(3);
  WeightEma average(&model_, 0.9);
  SetWeights(5);
  average.Swap();
  NamedTensors state = average.State();
  ASSERT_FALSE(state.empty());
  EXPECT_EQ(state.begin()->second.flatten()[0].item<double>(), 5);
  WeightEma other(&model_, 0.9);
  EXPECT_TRUE(other.LoadState(state).ok());
  state.erase(state.begin());
  EXPECT_EQ(other.LoadState(state).reason(), reason::CHECKPOINT_INVALID);
}

}  // namespace
}  // namespace interlacer
