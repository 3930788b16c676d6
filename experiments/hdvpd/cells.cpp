#include "experiments/hdvpd/cells.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <utility>

#include "evaluation/statistics.h"

namespace interlacer {
namespace {

using nlohmann::json;

constexpr char kAppearance[] = "appearance/";
constexpr double kNotFinite = std::numeric_limits<double>::infinity();

json ConfigOf(const StudyPlan& plan, const json& variant_model, const json& training) {
  json model = plan.model;
  model.merge_patch(variant_model);
  json settings = plan.training;
  settings.merge_patch(training);
  return {{"model", std::move(model)}, {"training", std::move(settings)}};
}

void SetLearningRate(double rate, json* config) {
  (*config)["training"]["learning_rate"] = json::array({{{"from_step", 0}, {"value", rate}}});
}

}  // namespace

std::vector<Cell> AppearanceCells(const StudyPlan& plan) {
  std::vector<std::int64_t> seeds{plan.search_seed};
  seeds.insert(seeds.end(), plan.seeds.begin(), plan.seeds.end());
  std::vector<Cell> cells;
  for (const std::int64_t seed : seeds) {
    // The local layer takes no part in a reconstruction.
    cells.push_back({kAppearance + std::to_string(seed), seed,
                     ConfigOf(plan, plan.variants[0].models[0], plan.appearance), "", false});
  }
  return cells;
}

std::vector<Cell> TrialCells(const StudyPlan& plan, const PlannedVariant& variant) {
  std::vector<Cell> cells;
  for (std::size_t m = 0; m < variant.models.size(); ++m) {
    for (std::size_t r = 0; r < plan.learning_rates.size(); ++r) {
      Cell cell;
      cell.name = "search/" + variant.name + "-" + std::to_string(m) + "-" + std::to_string(r);
      cell.seed = plan.search_seed;
      cell.config = ConfigOf(plan, variant.models[m], plan.stages[0].training);
      // All trials have one length.
      cell.config["training"]["step_count"] = plan.search_step_count;
      cell.config["training"].erase("stop_when_flat");
      SetLearningRate(plan.learning_rates[r], &cell.config);
      cell.init = kAppearance + std::to_string(plan.search_seed);
      cell.takes_appearance_alone = true;
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

std::vector<Cell> StageCells(const StudyPlan& plan, const PlannedVariant& variant,
                             std::size_t stage, const Choice& choice) {
  std::vector<Cell> cells;
  for (const std::int64_t seed : plan.seeds) {
    const std::string run = "/" + variant.name + "-" + std::to_string(seed);
    Cell cell;
    cell.name = plan.stages[stage].name + run;
    cell.seed = seed;
    cell.config = ConfigOf(plan, variant.models[choice.model], plan.stages[stage].training);
    SetLearningRate(choice.learning_rate * plan.stages[stage].learning_rate_share, &cell.config);
    cell.init = stage == 0 ? kAppearance + std::to_string(seed) : plan.stages[stage - 1].name + run;
    cell.takes_appearance_alone = stage == 0;
    cells.push_back(std::move(cell));
  }
  return cells;
}

CellState ReadCell(const std::string& dir) {
  CellState state;
  std::vector<double> seconds;
  std::ifstream file(dir + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    // The last line of a run that was killed may be half written.
    const json record = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!record.is_object()) continue;
    const json kind = record.value("kind", json()), step = record.value("step", json());
    if (step.is_number_integer()) state.steps = step.get<std::int64_t>();
    if (kind == "train") {
      const json step_s = record.value("cpu_seconds", json());
      if (step_s.is_number()) seconds.push_back(step_s.get<double>());
    } else if (kind == "validation" && record.contains("loss")) {
      const json& loss = record["loss"];
      state.validations.push_back(
          {state.steps, loss.is_number() ? loss.get<double>() : kNotFinite});
    } else if (kind == "end") {
      state.has_ended = true;
      state.is_flat = record.value("flat", json()) == true;
    }
  }
  seconds.erase(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
  state.step_s = Percentile(std::move(seconds), 0.5).value_or(0);
  return state;
}

std::optional<std::size_t> ChooseTrial(std::span<const std::optional<double>> losses) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (!losses[i] || !std::isfinite(*losses[i])) continue;
    if (!best || *losses[i] < *losses[*best]) best = i;
  }
  return best;
}

std::vector<std::optional<double>> TrialLosses(const StudyPlan& plan, const PlannedVariant& variant,
                                               const std::string& runs_dir) {
  std::vector<std::optional<double>> losses;
  for (const Cell& trial : TrialCells(plan, variant)) {
    const CellState state = ReadCell(runs_dir + "/" + trial.name);
    const bool has_loss = state.has_ended && !state.validations.empty();
    losses.push_back(has_loss ? std::optional(state.validations.back().loss) : std::nullopt);
  }
  return losses;
}

Choice ChoiceOf(const StudyPlan& plan, std::size_t index) {
  const std::size_t rates = plan.learning_rates.size();
  return {index / rates, plan.learning_rates[index % rates]};
}

}  // namespace interlacer
