/// The arithmetic behind every figure that the benchmark prints.

#include "bench/timer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
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
    return 1e3;
  };
  const Work peer = [&] {
    order += 'p';
    return 4e3;
  };
  const PairTiming timing = TimeInTurn(ours, peer, 3, 8);
  EXPECT_EQ(timing.ours.repeats, 8);
  EXPECT_EQ(timing.peer.repeats, 2);
  EXPECT_EQ(timing.ours.samples_ms.size(), 24u);
  EXPECT_EQ(timing.peer.samples_ms.size(), 6u);
  const std::string round = "oooooooopp";
  ASSERT_GE(order.size(), 3 * round.size());
  EXPECT_EQ(order.substr(order.size() - 3 * round.size()), round + round + round);
}

TEST(TimeInTurn, AFigureThatIsAMeanOfManyRunsIsRepeatedByTheTimeOfTheCall) {
  constexpr auto kCall = std::chrono::milliseconds(2);
  constexpr double kFigureMs = 1e-3, kRoundS = 20e-3;
  const Work work = [&] {
    std::this_thread::sleep_for(kCall);
    return kFigureMs;
  };
  const PairTiming timing = TimeInTurn(work, nullptr, 1, kRoundS);
  EXPECT_GE(timing.ours.repeats, 1);
  EXPECT_LE(timing.ours.repeats, 10);
  EXPECT_EQ(timing.ours.quantile_ms(0.5), kFigureMs);
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
