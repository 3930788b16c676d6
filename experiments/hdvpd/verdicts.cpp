#include "experiments/hdvpd/verdicts.h"

#include <algorithm>
#include <array>

#include "evaluation/view_scores.h"

namespace interlacer {
namespace {

constexpr double kError = 0.05;
constexpr int kRunsForOneUnfinished = 5;
constexpr std::array kClaimMetrics{kSsim, kSsimMoving, kSsimObjects, kL2Moved};

/// Mean of the oracle minus that of copying; nothing where the metric has none. Both are scored
/// with the first variant.
std::optional<double> RoomOf(const Study& study, std::string_view metric) {
  const std::string variant = study.variants().front();
  const auto mean = [&](const StudySubject& subject) {
    return study.Mean(subject, metric, kAllSteps, EpisodeGroup::kMoving);
  };
  const auto copy = mean({variant, std::string(kCopyLast)});
  auto oracle = mean({variant, std::string(kModelSubject), Condition::kTrueFrames});
  const bool draws_pixels = study.setup().plan.render_mode == RenderMode::kObserved;
  if (!oracle && (draws_pixels || metric == kL2Moved)) {
    oracle = mean({variant, std::string(kOracleMotion)});
  }
  if (!copy || !oracle || oracle->mean == copy->mean) return std::nullopt;
  return oracle->mean - copy->mean;
}

}  // namespace

Verdict Judge(const std::optional<Interval>& over_runs,
              const std::optional<Interval>& over_runs_and_episodes, bool larger_is_better) {
  if (!over_runs || !over_runs_and_episodes) return Verdict::kUndecided;
  const bool is_above = over_runs->low > 0 && over_runs_and_episodes->low > 0;
  const bool is_below = over_runs->high < 0 && over_runs_and_episodes->high < 0;
  if (!is_above && !is_below) return Verdict::kUndecided;
  return is_above == larger_is_better ? Verdict::kHolds : Verdict::kDoesNotHold;
}

bool AreTrainedToTheEnd(const std::vector<TrainedRun>& runs, std::string_view variant) {
  int count = 0, unfinished = 0;
  for (const TrainedRun& run : runs) {
    if (run.variant != variant || run.has_diverged) continue;
    ++count;
    unfinished += run.training.contains("stop_when_flat") && !run.is_flat;
  }
  return unfinished * kRunsForOneUnfinished <= count;
}

std::vector<Claim> CheckClaims(const Study& study, std::string_view primary_metric) {
  std::vector<Claim> claims;
  const std::vector<std::string> variants = study.variants();
  for (const std::string_view metric : kClaimMetrics) {
    const bool larger_is_better = metric != kL2Moved;
    for (const auto& [a, b] : ComparedPairs(study)) {
      const auto difference =
          study.Difference(a.subject, b.subject, metric, kAllSteps, EpisodeGroup::kMoving);
      if (!difference) continue;
      Claim claim{a, b, std::string(metric), false, *difference, {}, {}, {}, ""};
      claim.is_primary = metric == primary_metric && a.subject.variant == variants.front();
      const double claim_count = static_cast<double>(variants.size()) - 1;
      claim.over_runs =
          StudentInterval(difference->run_means, 1 - kError / (claim.is_primary ? claim_count : 1));
      if (const auto room = RoomOf(study, metric)) {
        claim.share = difference->difference.mean / *room;
      }
      claim.verdict = Judge(claim.over_runs, difference->difference.interval, larger_is_better);
      for (const NamedSubject* side : {&a, &b}) {
        if (AreTrainedToTheEnd(study.runs(), side->subject.variant)) continue;
        claim.verdict = Verdict::kUndecided;
        claim.note += (claim.note.empty() ? "runs of " : ", ") + side->name;
      }
      if (!claim.note.empty()) claim.note += " ended before they had flattened";
      claims.push_back(std::move(claim));
    }
  }
  std::stable_partition(claims.begin(), claims.end(),
                        [](const Claim& claim) { return claim.is_primary; });
  return claims;
}

}  // namespace interlacer
