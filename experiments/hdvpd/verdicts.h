#pragma once

/// Which claims of a planned study hold: that one variant is better than another.
///
/// A claim holds when two intervals of the mean difference lie on its side of zero: Student's over
/// the runs (a run is the unit: the claim is about training again) and the bootstrap over runs and
/// episodes; it does not hold when both lie on the other side, and is undecided otherwise, or where
/// too many runs of either variant had not flattened when they ended. The claims of the first
/// variant against each other one in the primary metric are primary: Student's intervals of the k
/// of them have a confidence of 1 - 0.05 / k, all others 0.95. Pure functions of the study.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/statistics.h"
#include "experiments/hdvpd/study.h"
#include "experiments/verdict.h"

namespace interlacer {

/// Of "a is better than b" from intervals of a - b; nothing is decided without both.
Verdict Judge(const std::optional<Interval>& over_runs,
              const std::optional<Interval>& over_runs_and_episodes, bool larger_is_better);

/// Whether at most a fifth of a variant's runs ended before they had flattened; runs without a
/// stopping rule count as flat.
bool AreTrainedToTheEnd(const std::vector<TrainedRun>& runs, std::string_view variant);

struct Claim {
  NamedSubject a, b;
  std::string metric;
  bool is_primary = false;
  PairedDifference difference;        ///< a - b, mean over steps, episodes in which the arms move
  std::optional<Interval> over_runs;  ///< Student's, of the claim's confidence
  /// The difference as a share of oracle - copy_last; absent where the metric has no oracle.
  std::optional<double> share;
  Verdict verdict = Verdict::kUndecided;
  std::string note;  ///< why nothing is decided, beside the intervals
};

/// The metrics of a claim: SSIM whole, where something moves, on objects; l2_moved_m.
std::vector<Claim> CheckClaims(const Study& study, std::string_view primary_metric);

}  // namespace interlacer
