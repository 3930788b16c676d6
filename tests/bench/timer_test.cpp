/// The arithmetic behind every figure that the benchmark prints.

#include "bench/timer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bench/errors.h"

namespace interlacer::bench {
namespace {

TEST(Quantile, InterpolatesBetweenSamples) {
  const std::vector<double> samples{4, 1, 3, 2, 5};
  EXPECT_DOUBLE_EQ(Quantile(samples, 0.5), 3);
  EXPECT_DOUBLE_EQ(Quantile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile(samples, 1), 5);
  EXPECT_DOUBLE_EQ(Quantile(samples, 0.9), 4.6);
  EXPECT_TRUE(std::isnan(Quantile({}, 0.5)));
}

TEST(TimeInTurn, AlternatesAndRepeatsUntilARoundIsLongEnough) {
  std::string order;
  const Work ours = [&] {
    order += 'o';
    return 1.0;
  };
  const Work peer = [&] {
    order += 'p';
    return 4.0;
  };
  const PairTiming timing = TimeInTurn(ours, peer, 3, 0.008);
  EXPECT_EQ(timing.ours.repeats, 8);
  EXPECT_EQ(timing.peer.repeats, 2);
  EXPECT_EQ(timing.ours.samples_ms.size(), 24u);
  EXPECT_EQ(timing.peer.samples_ms.size(), 6u);
  const std::string round = "oooooooopp";
  ASSERT_GE(order.size(), 3 * round.size());
  EXPECT_EQ(order.substr(order.size() - 3 * round.size()), round + round + round);
}

TEST(TimeInTurn, AMissingPeerHasNoSamples) {
  const PairTiming timing = TimeInTurn([] { return 1.0; }, nullptr, 2, 0.001);
  EXPECT_EQ(timing.ours.samples_ms.size(), 2u);
  EXPECT_TRUE(timing.peer.samples_ms.empty());
}

TEST(Errors, NanPassesNoGate) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> right{1, 2, 3}, poisoned{1, nan, 3}, shorter{1, 2};
  for (const auto& got : {poisoned, shorter}) {
    GateResult gate;
    gate.error_bound = 1e9;
    gate.error = RelativeL2(got, right);
    EXPECT_FALSE(gate.correct());
    gate.error = MaxAbs(got, right);
    EXPECT_FALSE(gate.correct());
  }
  EXPECT_EQ(RelativeL2(right, right), 0);
}

TEST(Errors, AnUncheckedGateOrALostNeighbourIsWrong) {
  EXPECT_FALSE(GateResult{}.correct());
  GateResult gate;
  gate.error = 0;
  gate.recall = 0.9999;
  EXPECT_FALSE(gate.correct());
}

}  // namespace
}  // namespace interlacer::bench
