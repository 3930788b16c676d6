#pragma once

/// Measures two sides alternately: ours, peer, ours, peer. Threads: one at a time.

#include <vector>

#include "bench/case.h"

namespace interlacer::bench {

/// The quantile `q` in [0,1] of the samples, by linear interpolation; NaN for none.
double Quantile(std::vector<double> samples, double q);

struct Timing {
  std::vector<double> samples_ms;  ///< all runs of all rounds
  int repeats = 0;                 ///< number of runs in a round

  double quantile_ms(double q) const { return Quantile(samples_ms, q); }
};

struct PairTiming {
  Timing ours;
  Timing peer;
};

/// Each side runs once to warm up, and once more unless that took long. It is then repeated in
/// every round until `min_round_s` have passed, counted by its result or, if longer, by the
/// duration of its calls. An empty peer leaves its timing empty.
PairTiming TimeInTurn(const Work& ours, const Work& peer, int rounds, double min_round_s = 0.2);

}  // namespace interlacer::bench
