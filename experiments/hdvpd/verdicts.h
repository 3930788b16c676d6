#pragma once

/// Which claims of a planned study hold: that one variant is better than another.
///
/// A claim holds when two intervals of the mean difference lie on its side of zero: Student's over
/// the runs (a run is the unit: the claim is about training again) and the bootstrap over runs and
/// episodes; it does not hold when both lie on the other side, and is undecided otherwise. It is
/// undecided too where more than a fifth of the planned runs of either variant had not flattened
/// when they ended or take no part, and where a rollout of a run that takes part failed, which
/// leaves its episode out of all figures. The k claims of the first variant against each other one
/// in the primary metric are primary; Student's intervals have a confidence of 1 - 0.05 / k. Pure
/// functions of the study.

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

/// Whether at most a fifth of a variant's planned runs ended before they had flattened, diverged or
/// are not there.
bool AreTrainedToTheEnd(const std::vector<TrainedRun>& runs, std::string_view variant,
                        std::size_t planned_count);

/// What the plan fixes.
struct PlannedClaims {
  std::string primary_metric;
  std::vector<std::string> variants;  ///< the first is compared with each of the others
  std::size_t seed_count = 0;
};

struct Claim {
  NamedSubject a, b;
  std::string metric;
  bool is_primary = false;
  /// a - b, mean over steps, episodes in which the arms move; absent where no run has it.
  std::optional<PairedDifference> difference;
  std::optional<Interval> over_runs;  ///< Student's
  /// The difference as a share of oracle - copy_last; absent where the metric has no oracle.
  std::optional<double> share;
  Verdict verdict = Verdict::kUndecided;
  std::string note;  ///< why nothing is decided, beside the intervals
};

/// Primary claims are there whatever took part; the others, in SSIM whole, where something moves,
/// on objects and l2_moved_m, where there are figures.
std::vector<Claim> CheckClaims(const Study& study, const PlannedClaims& planned);

/// "+0.0030 [0.0005, 0.0054]" and the number of episodes; "–" without a figure.
std::string DifferenceText(const Claim& claim);
std::string CountText(const Claim& claim);
/// "undecided (failed rollouts of GRF)".
std::string ClaimVerdictText(const Claim& claim);

}  // namespace interlacer
