#include "experiments/hdvpd/verdicts.h"

#include <algorithm>
#include <set>

#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"

namespace interlacer {
namespace {

constexpr double kError = 0.05;
constexpr std::size_t kRunsForOneUnfinished = 5;

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

NamedSubject NamedModel(const std::string& variant) {
  return {VariantLabel(variant), {variant, std::string(kModelSubject)}};
}

/// Of the runs that take part. Failures under an ablation say nothing of the model's rollouts.
bool HasFailed(const Study& study, std::string_view variant) {
  std::set<std::string> runs;
  for (const TrainedRun& run : study.runs()) {
    if (run.variant == variant && !run.has_diverged) runs.insert(run.name());
  }
  return std::any_of(study.failures().begin(), study.failures().end(),
                     [&](const PieceFailure& failure) {
                       return failure.condition == ConditionName(Condition::kRecorded) &&
                              runs.contains(failure.run);
                     });
}

void AddName(const std::string& name, std::string* names) {
  *names += (names->empty() ? "" : ", ") + name;
}

void AddWhy(const std::string& why, Claim* claim) {
  claim->verdict = Verdict::kUndecided;
  claim->note += (claim->note.empty() ? "" : "; ") + why;
}

/// Fills intervals, share, verdict and note.
void Decide(const Study& study, std::size_t seed_count, double confidence, Claim* claim) {
  if (claim->difference) {
    claim->over_runs = StudentInterval(claim->difference->run_means, confidence);
    if (const auto room = RoomOf(study, claim->metric)) {
      claim->share = claim->difference->difference.mean / *room;
    }
    claim->verdict =
        Judge(claim->over_runs, claim->difference->difference.interval, claim->metric != kL2Moved);
  } else {
    claim->note = "no figures of both";
  }
  std::string untrained, failed;
  for (const NamedSubject* side : {&claim->a, &claim->b}) {
    const std::string& variant = side->subject.variant;
    if (!AreTrainedToTheEnd(study.runs(), variant, seed_count)) AddName(side->name, &untrained);
    if (HasFailed(study, variant)) AddName(side->name, &failed);
  }
  if (!untrained.empty()) {
    AddWhy("more than a fifth of the runs of " + untrained + " not flat or not there", claim);
  }
  if (!failed.empty()) AddWhy("failed rollouts of " + failed, claim);
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

bool AreTrainedToTheEnd(const std::vector<TrainedRun>& runs, std::string_view variant,
                        std::size_t planned_count) {
  const auto is_trained = [&](const TrainedRun& run) {
    return run.variant == variant && !run.has_diverged && run.is_flat;
  };
  const auto trained =
      static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), is_trained));
  return trained * kRunsForOneUnfinished >= planned_count * (kRunsForOneUnfinished - 1);
}

std::vector<Claim> CheckClaims(const Study& study, const PlannedClaims& planned) {
  std::vector<Claim> claims;
  const double confidence = 1 - kError / (static_cast<double>(planned.variants.size()) - 1);
  for (const std::string_view metric : kClaimMetrics) {
    for (std::size_t i = 0; i < planned.variants.size(); ++i) {
      for (std::size_t j = i + 1; j < planned.variants.size(); ++j) {
        Claim claim;
        claim.a = NamedModel(planned.variants[i]);
        claim.b = NamedModel(planned.variants[j]);
        claim.metric = metric;
        claim.is_primary = i == 0 && metric == planned.primary_metric;
        claim.difference = study.Difference(claim.a.subject, claim.b.subject, metric, kAllSteps,
                                            EpisodeGroup::kMoving);
        if (!claim.difference && !claim.is_primary) continue;
        Decide(study, planned.seed_count, confidence, &claim);
        claims.push_back(std::move(claim));
      }
    }
  }
  std::stable_partition(claims.begin(), claims.end(),
                        [](const Claim& claim) { return claim.is_primary; });
  return claims;
}

std::string DifferenceText(const Claim& claim) {
  return claim.difference ? GapText(*claim.difference, MetricDecimals(claim.metric)) : "–";
}

std::string CountText(const Claim& claim) {
  return claim.difference ? std::to_string(claim.difference->difference.n) : "–";
}

std::string ClaimVerdictText(const Claim& claim) {
  const std::string note = claim.note.empty() ? "" : " (" + claim.note + ")";
  return std::string(VerdictText(claim.verdict)) + note;
}

}  // namespace interlacer
