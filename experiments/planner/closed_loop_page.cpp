#include <algorithm>
#include <cmath>
#include <limits>

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

int Lifted(const std::vector<const TrialResult*>& trials) {
  int count = 0;
  for (const TrialResult* trial : trials) count += trial->raised_m >= kLiftedM ? 1 : 0;
  return count;
}

int DecisionCount(const std::vector<const TrialResult*>& trials) {
  std::size_t count = 0;
  for (const TrialResult* trial : trials) count += trial->decisions.size();
  return static_cast<int>(count);
}

/// Decisions whose time was over before all motions were scored.
int CutCount(const std::vector<const TrialResult*>& trials) {
  int count = 0;
  for (const TrialResult* trial : trials) {
    for (const TrialDecision& decision : trial->decisions) {
      count += decision.scored_count < decision.motion_count ? 1 : 0;
    }
  }
  return count;
}

double MeanMotions(const std::vector<const TrialResult*>& trials) {
  double count = 0;
  for (const TrialResult* trial : trials) {
    for (const TrialDecision& decision : trial->decisions) count += decision.chosen != 0 ? 1 : 0;
  }
  return count / static_cast<double>(trials.size());
}

double LongestS(const std::vector<const TrialResult*>& trials, double TrialDecision::*time_s) {
  double longest_s = 0;
  for (const TrialResult* trial : trials) {
    for (const TrialDecision& decision : trial->decisions) {
      longest_s = std::max(longest_s, decision.*time_s);
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
  const bool lifts = study.options.sim.task == "lift_can";
  std::string text;
  for (const Chooser chooser : AllChoosers()) {
    const auto trials = TrialsOf(study, chooser);
    if (trials.empty()) continue;
    const auto count = static_cast<int>(trials.size());
    text += NameOf(chooser) + (lifts ? ": the can ends " : ": the block ends ") +
            MeanText(EstimateMean(EndsCm(trials), kStudyBootstrap), kCentimetreDecimals) +
            " cm from its goal; arrived " + std::to_string(Arrived(trials)) + " of " +
            std::to_string(count);
    if (lifts) text += "; lifted " + std::to_string(Lifted(trials));
    text += "; " + ScoreText(MeanMotions(trials), kCentimetreDecimals) +
            " motions; longest decision " +
            ScoreText(LongestS(trials, &TrialDecision::choose_s), kCentimetreDecimals) + " s (" +
            ScoreText(LongestS(trials, &TrialDecision::core_s), kCentimetreDecimals) +
            " s of a core), cut short " + std::to_string(CutCount(trials)) + " of " +
            std::to_string(DecisionCount(trials));
    if (const auto gap = AgainstModel(study, chooser)) {
      text += "; model - " + NameOf(chooser) + ' ' + GapText(*gap, kCentimetreDecimals) + " cm";
    }
    text += '\n';
  }
  return text;
}

nlohmann::ordered_json ClosedLoopToJson(const ClosedLoopStudy& study) {
  nlohmann::ordered_json json = {{"schema", "interlacer.closed_loop/2"},
                                 {"model", study.model},  // empty where no chooser asks one
                                 {"command", study.command},
                                 {"created_time", study.created_time},
                                 {"task", study.options.sim.task},
                                 {"split", sim::NameOf(study.options.sim.split)},
                                 {"decisions", study.options.decision_count},
                                 {"candidates", study.options.candidate_count},
                                 {"steps", study.options.step_count},
                                 {"limit_s", study.options.limit_s}};
  if (std::isfinite(study.options.core_limit_s)) json["core_limit_s"] = study.options.core_limit_s;
  for (const auto& [chooser, gain_m] : study.options.least_gain_m) {
    json["least_gain_m"][NameOf(chooser)] = gain_m;
  }
  for (const Chooser chooser : AllChoosers()) {
    const auto trials = TrialsOf(study, chooser);
    if (trials.empty()) continue;
    nlohmann::ordered_json summary;
    if (const auto mean = EstimateMean(EndsCm(trials), kStudyBootstrap)) {
      summary["end_cm"] = ToJson(*mean);
    }
    summary["arrived"] = Arrived(trials);
    summary["lifted"] = Lifted(trials);
    summary["mean_motions"] = MeanMotions(trials);
    summary["longest_choice_s"] = LongestS(trials, &TrialDecision::choose_s);
    summary["longest_core_s"] = LongestS(trials, &TrialDecision::core_s);
    summary["decisions"] = DecisionCount(trials);
    summary["cut_short"] = CutCount(trials);
    if (const auto gap = AgainstModel(study, chooser)) {
      summary["model_minus_this_cm"] = ToJson(gap->difference);
    }
    json["choosers"][NameOf(chooser)] = summary;
  }
  for (const TrialResult& trial : study.trials) json["trials"].push_back(TrialToJson(trial));
  return json;
}

nlohmann::ordered_json TrialToJson(const TrialResult& trial) {
  nlohmann::ordered_json row = {{"seed", trial.seed},
                                {"chooser", NameOf(trial.chooser)},
                                {"goal_m", trial.goal_m},
                                {"start_m", trial.start_m},
                                {"end_m", trial.end_m},
                                {"raised_m", trial.raised_m},
                                {"arm_collided", trial.has_collided}};
  row["decisions"] = nlohmann::ordered_json::array();
  for (const TrialDecision& decision : trial.decisions) {
    nlohmann::ordered_json one = {{"chosen", decision.chosen}};
    if (std::isfinite(decision.predicted_m)) one["predicted_m"] = decision.predicted_m;
    one["true_m"] = decision.true_m;
    one["choose_s"] = decision.choose_s;
    one["core_s"] = decision.core_s;
    one["particles"] = decision.particle_count;
    one["motions"] = decision.motion_count;
    one["scored"] = decision.scored_count;
    row["decisions"].push_back(one);
  }
  return row;
}

StatusOr<TrialResult> TrialFromJson(const nlohmann::json& json) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject row, JsonObject::Make(json));
  TrialResult trial;
  INTERLACER_ASSIGN_OR_RETURN(trial.seed, row.Get<std::uint64_t>("seed"));
  INTERLACER_ASSIGN_OR_RETURN(const std::string chooser, row.Get<std::string>("chooser"));
  const std::optional<Chooser> known = ChooserNamed(chooser);
  if (!known) {
    return Mismatch(reason::SCHEMA_INVALID, "chooser", "one that decides", chooser);
  }
  trial.chooser = *known;
  INTERLACER_ASSIGN_OR_RETURN(const auto goal_m, row.GetNumbers("goal_m", 3));
  std::copy(goal_m.begin(), goal_m.end(), trial.goal_m.begin());
  INTERLACER_ASSIGN_OR_RETURN(trial.start_m, row.Get<double>("start_m"));
  INTERLACER_ASSIGN_OR_RETURN(trial.end_m, row.Get<double>("end_m"));
  INTERLACER_ASSIGN_OR_RETURN(trial.raised_m, row.Get<double>("raised_m"));
  INTERLACER_ASSIGN_OR_RETURN(trial.has_collided, row.Get<bool>("arm_collided"));
  INTERLACER_ASSIGN_OR_RETURN(const auto decisions, row.GetObjects("decisions"));
  for (const JsonObject& each : decisions) {
    TrialDecision& decision = trial.decisions.emplace_back();
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    INTERLACER_ASSIGN_OR_RETURN(decision.chosen, each.Get<int>("chosen"));
    INTERLACER_ASSIGN_OR_RETURN(decision.predicted_m, each.GetOr("predicted_m", kUnknown));
    INTERLACER_ASSIGN_OR_RETURN(decision.true_m, each.Get<double>("true_m"));
    INTERLACER_ASSIGN_OR_RETURN(decision.choose_s, each.Get<double>("choose_s"));
    INTERLACER_ASSIGN_OR_RETURN(decision.core_s, each.Get<double>("core_s"));
    INTERLACER_ASSIGN_OR_RETURN(decision.particle_count, each.Get<int>("particles"));
    INTERLACER_ASSIGN_OR_RETURN(decision.motion_count, each.Get<int>("motions"));
    INTERLACER_ASSIGN_OR_RETURN(decision.scored_count, each.Get<int>("scored"));
  }
  return trial;
}

}  // namespace interlacer
