#include <cmath>

#include "common/json.h"
#include "evaluation/results.h"
#include "evaluation/score_text.h"
#include "evaluation/statistics.h"
#include "experiments/planner/closed_loop.h"
#include "experiments/score_table.h"

namespace interlacer {
namespace {

constexpr int kCentimetreDecimals = 1;
constexpr double kCmOfM = 100;

std::vector<const TrialResult*> TrialsOf(const ClosedLoopStudy& study, Chooser chooser) {
  std::vector<const TrialResult*> trials;
  for (const TrialResult& trial : study.trials) {
    if (trial.chooser == chooser) trials.push_back(&trial);
  }
  return trials;
}

std::vector<double> EndsCm(const std::vector<const TrialResult*>& trials) {
  std::vector<double> ends_cm;
  for (const TrialResult* trial : trials) ends_cm.push_back(kCmOfM * trial->end_m);
  return ends_cm;
}

int Arrived(const std::vector<const TrialResult*>& trials) {
  int count = 0;
  for (const TrialResult* trial : trials) count += trial->end_m <= kArrivedM ? 1 : 0;
  return count;
}

double MeanPushes(const std::vector<const TrialResult*>& trials) {
  double count = 0;
  for (const TrialResult* trial : trials) {
    for (const TrialDecision& decision : trial->decisions) count += decision.chosen != 0 ? 1 : 0;
  }
  return count / static_cast<double>(trials.size());
}

double LongestS(const std::vector<const TrialResult*>& trials) {
  double longest_s = 0;
  for (const TrialResult* trial : trials) {
    for (const TrialDecision& decision : trial->decisions) {
      longest_s = std::max(longest_s, decision.choose_s);
    }
  }
  return longest_s;
}

/// Of the model and another chooser that saw the same scenes; absent where they did not.
std::optional<PairedDifference> AgainstModel(const ClosedLoopStudy& study, Chooser other) {
  const auto model = TrialsOf(study, Chooser::kModel), others = TrialsOf(study, other);
  if (other == Chooser::kModel || model.empty()) return std::nullopt;
  const auto gap = ComparePaired(EndsCm(model), EndsCm(others), kStudyBootstrap);
  if (!gap.ok()) return std::nullopt;
  return *gap;
}

}  // namespace

std::string ClosedLoopText(const ClosedLoopStudy& study) {
  std::string text;
  for (const Chooser chooser : AllChoosers()) {
    const auto trials = TrialsOf(study, chooser);
    if (trials.empty()) continue;
    const auto count = static_cast<int>(trials.size());
    text += NameOf(chooser) + ": the block ends " +
            MeanText(EstimateMean(EndsCm(trials), kStudyBootstrap), kCentimetreDecimals) +
            " cm from its goal; arrived " + std::to_string(Arrived(trials)) + " of " +
            std::to_string(count) + "; " + ScoreText(MeanPushes(trials), kCentimetreDecimals) +
            " pushes; longest choice " + ScoreText(LongestS(trials), kCentimetreDecimals) + " s";
    if (const auto gap = AgainstModel(study, chooser)) {
      text += "; model - " + NameOf(chooser) + ' ' + GapText(*gap, kCentimetreDecimals) + " cm";
    }
    text += '\n';
  }
  return text;
}

nlohmann::ordered_json ClosedLoopToJson(const ClosedLoopStudy& study) {
  nlohmann::ordered_json json = {{"schema", "interlacer.closed_loop/1"},
                                 {"model", study.model},
                                 {"command", study.command},
                                 {"created_time", study.created_time},
                                 {"task", study.options.sim.task},
                                 {"decisions", study.options.decision_count},
                                 {"candidates", study.options.candidate_count},
                                 {"steps", study.options.step_count}};
  for (const Chooser chooser : AllChoosers()) {
    const auto trials = TrialsOf(study, chooser);
    if (trials.empty()) continue;
    nlohmann::ordered_json summary;
    if (const auto mean = EstimateMean(EndsCm(trials), kStudyBootstrap)) {
      summary["end_cm"] = ToJson(*mean);
    }
    summary["arrived"] = Arrived(trials);
    summary["mean_pushes"] = MeanPushes(trials);
    summary["longest_choice_s"] = LongestS(trials);
    if (const auto gap = AgainstModel(study, chooser)) {
      summary["model_minus_this_cm"] = ToJson(gap->difference);
    }
    json["choosers"][NameOf(chooser)] = summary;
  }
  for (const TrialResult& trial : study.trials) {
    nlohmann::ordered_json row = {{"seed", trial.seed},
                                  {"chooser", NameOf(trial.chooser)},
                                  {"goal_m", {trial.goal_m[0], trial.goal_m[1]}},
                                  {"start_m", trial.start_m},
                                  {"end_m", trial.end_m},
                                  {"arm_collided", trial.has_collided}};
    row["decisions"] = nlohmann::ordered_json::array();
    for (const TrialDecision& decision : trial.decisions) {
      nlohmann::ordered_json one = {{"chosen", decision.chosen}};
      one["predicted_m"] = std::isfinite(decision.predicted_m)
                               ? nlohmann::ordered_json(decision.predicted_m)
                               : nlohmann::ordered_json(nullptr);
      one["true_m"] = decision.true_m;
      one["choose_s"] = decision.choose_s;
      one["particles"] = decision.particle_count;
      row["decisions"].push_back(one);
    }
    json["trials"].push_back(row);
  }
  return json;
}

}  // namespace interlacer
