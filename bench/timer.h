#pragma once

/// Times two sides in turn: ours, peer, ours, peer. Threads: one at a time.

#include <vector>

#include "bench/case.h"

namespace interlacer::bench {

/// Value below which a share `q` in [0,1] of the samples lies, by linear interpolation; NaN of
/// none.
double Quantile(std::vector<double> samples, double q);

struct Timing {
  std::vector<double> samples_ms;  ///< every run of every round
  int repeats = 0;                 ///< runs in a round

  double quantile_ms(double q) const { return Quantile(samples_ms, q); }
};

struct PairTiming {
  Timing ours;
  Timing peer;
};

/// Each side runs once to warm up, once more unless that was long, and is then repeated in every
/// round until `min_round_s` have passed by that time: the figure, or the call's where it is
/// longer. An empty peer leaves its timing empty.
PairTiming TimeInTurn(const Work& ours, const Work& peer, int rounds, double min_round_s = 0.2);

}  // namespace interlacer::bench
