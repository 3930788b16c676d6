#include "experiments/learning/study.h"

#include <utility>

namespace interlacer {
namespace {

std::vector<double> TestScores(const LearningStudy& study, const std::string& name) {
  std::vector<double> scores;
  for (const NetworkRuns& network : study.networks) {
    if (network.name != name) continue;
    for (const LearningResult& run : network.runs) scores.push_back(run.test.score);
  }
  return scores;
}

}  // namespace

StatusOr<LearningStudy> RunLearningStudy(const LearningPlan& plan, const std::string& output_dir,
                                         const StudyProgress& progress) {
  LearningStudy study;
  study.plan = plan;
  for (const PlannedNetwork& network : plan.networks) {
    study.networks.push_back({network.name, network.published, {}});
  }
  std::int64_t number = 0;
  for (const std::int64_t seed : plan.seeds) {
    MotifSettings data = plan.data;
    data.seed += static_cast<std::uint64_t>(seed);
    auto made = MotifSet::Make(data);
    if (!made.ok()) return made.status().WithFieldPrefix("data.");
    const MotifSet set = *std::move(made);
    INTERLACER_ASSIGN_OR_RETURN(study.trivial.emplace_back(), ScoreOfTrivialPrediction(set));
    for (std::size_t i = 0; i < plan.networks.size(); ++i) {
      const std::string name = plan.networks[i].name + "-" + std::to_string(seed);
      LearningOptions options;
      options.config = plan.training;
      options.config.network = plan.networks[i].network;
      options.output_dir = output_dir + "/runs/" + name;
      options.seed = static_cast<std::uint64_t>(seed);
      options.resume = true;
      options.stop = progress.stop;
      options.on_epoch = [&](const EpochRecord& epoch) { progress.on_epoch(number, name, epoch); };
      auto result = Learn(set, options);
      if (!result.ok()) return result.status().WithFieldPrefix("runs/" + name + ":");
      study.networks[i].runs.push_back(*std::move(result));
      ++number;
    }
  }
  return study;
}

MeanEstimate OverSeeds(const std::vector<double>& values) {
  MeanEstimate estimate = EstimateMean(values).value_or(MeanEstimate{});
  estimate.interval = StudentInterval(values);
  return estimate;
}

std::vector<LearningClaim> CheckClaims(const LearningStudy& study) {
  std::vector<LearningClaim> claims;
  for (const auto& [better, other] : study.plan.claims) {
    std::vector<double> difference = TestScores(study, better);
    const std::vector<double> others = TestScores(study, other);
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= others[i];
    LearningClaim claim{better, other, OverSeeds(difference)};
    if (const auto& interval = claim.difference.interval) {
      claim.verdict = interval->low > 0    ? Verdict::kHolds
                      : interval->high < 0 ? Verdict::kDoesNotHold
                                           : Verdict::kUndecided;
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace interlacer
