#include "bench/timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace interlacer::bench {
namespace {

constexpr int kMaxRepeats = 100'000;

/// Duration of a call; a result that is the mean of many runs is shorter.
double CallMs(const Work& work) {
  const auto begun = std::chrono::steady_clock::now();
  const double figure_ms = work();
  const std::chrono::duration<double, std::milli> call = std::chrono::steady_clock::now() - begun;
  return std::max(figure_ms, call.count());
}

int Repeats(const Work& work, double min_round_s) {
  double once_ms = work();
  if (once_ms < 1e3 * min_round_s) once_ms = CallMs(work);  // the first call was cold
  once_ms = std::max(once_ms, 1e-4);
  return static_cast<int>(
      std::clamp(std::ceil(1e3 * min_round_s / once_ms), 1.0, static_cast<double>(kMaxRepeats)));
}

void RunRound(const Work& work, Timing* timing) {
  for (int i = 0; i < timing->repeats; ++i) timing->samples_ms.push_back(work());
}

}  // namespace

double Quantile(std::vector<double> samples, double q) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(samples.begin(), samples.end());
  const double place = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (place - static_cast<double>(below)) * (samples[above] - samples[below]);
}

PairTiming TimeInTurn(const Work& ours, const Work& peer, int rounds, double min_round_s) {
  PairTiming timing;
  timing.ours.repeats = Repeats(ours, min_round_s);
  if (peer) timing.peer.repeats = Repeats(peer, min_round_s);
  for (int round = 0; round < rounds; ++round) {
    RunRound(ours, &timing.ours);
    if (peer) RunRound(peer, &timing.peer);
  }
  return timing;
}

}  // namespace interlacer::bench
