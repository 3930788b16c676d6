#include "client/planner/scene_source.h"

#include <algorithm>
#include <utility>

namespace interlacer {
namespace {

constexpr double kCostMargin = 3;

}  // namespace

SceneSource::SceneSource(std::unique_ptr<KeptScene> scene, ModelMetadata metadata,
                         CallOptions options)
    : scene_(std::move(scene)), metadata_(std::move(metadata)), options_(std::move(options)) {}

Status SceneSource::Predict(std::span<const PlanRows> candidates, const OutputOptions& output,
                            const CandidateCallback& on_candidate, const std::stop_token& stop) {
  std::vector<ActionSequence> actions;
  for (const PlanRows& rows : candidates) actions.push_back(ToActions(rows));
  CallOptions options = options_;
  options.stop = stop;
  if (options.deadline_s == 0 && !candidates.empty()) {
    const int steps = candidates.front().row_count * (output.include_spread ? kSpreadStepCount : 1);
    const double cost_s = CostS(static_cast<int>(candidates.size()), steps);
    options.deadline_s = std::max(kStreamDeadlineS, kCostMargin * cost_s);
  }
  const auto pass_on = [&](PredictedCandidate candidate) {
    CandidateOutcome outcome{candidate.index, {}, std::move(candidate.failure_reason)};
    if (outcome.failure_reason.empty()) outcome.steps = std::move(candidate.steps);
    return on_candidate(std::move(outcome));
  };
  return scene_->PredictCandidates(actions, output, pass_on, options).status();
}

double SceneSource::CostS(int candidate_count, int step_count) const {
  return candidate_count * step_count * metadata_.step_cost_s;
}

}  // namespace interlacer
