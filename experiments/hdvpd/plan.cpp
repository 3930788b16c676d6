#include "experiments/hdvpd/plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/json.h"
#include "data/manifest.h"
#include "evaluation/view_scores.h"

namespace interlacer {
namespace {

StatusOr<int> CountAt(const JsonObject& object, const char* key) {
  INTERLACER_ASSIGN_OR_RETURN(const int count, object.Get<int>(key));
  if (count >= 1) return count;
  return object.Invalid(key, "at least 1", std::to_string(count));
}

StatusOr<PlannedEpisodes> EpisodesOf(const JsonObject& splits, const char* split) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject object, splits.GetObject(split));
  INTERLACER_RETURN_IF_ERROR(object.AllowOnly({"seed", "count"}));
  PlannedEpisodes episodes;
  INTERLACER_ASSIGN_OR_RETURN(episodes.first_seed, object.Get<std::uint64_t>("seed"));
  INTERLACER_ASSIGN_OR_RETURN(episodes.count, CountAt(object, "count"));
  return episodes;
}

Status ReadEpisodes(const JsonObject& root, StudyPlan* plan) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject episodes, root.GetObject("episodes"));
  INTERLACER_RETURN_IF_ERROR(
      episodes.AllowOnly({"task", "steps", "width_px", "height_px", "train", "val", "test"}));
  INTERLACER_ASSIGN_OR_RETURN(const std::string task, episodes.Get<std::string>("task"));
  plan->simulate_options = {"--task", task};
  for (const auto& [key, option] : {std::pair{"steps", "--steps"}, std::pair{"width_px", "--width"},
                                    std::pair{"height_px", "--height"}}) {
    if (!episodes.Has(key)) continue;
    INTERLACER_ASSIGN_OR_RETURN(const int value, episodes.Get<int>(key));
    plan->simulate_options.insert(plan->simulate_options.end(), {option, std::to_string(value)});
  }
  INTERLACER_ASSIGN_OR_RETURN(plan->train, EpisodesOf(episodes, "train"));
  INTERLACER_ASSIGN_OR_RETURN(plan->val, EpisodesOf(episodes, "val"));
  INTERLACER_ASSIGN_OR_RETURN(plan->test, EpisodesOf(episodes, "test"));
  return Status::Ok();
}

/// Names of variants and stages are those of folders.
Status CheckName(const JsonObject& object, const std::string& name, std::set<std::string>* names) {
  if (!IsValidName(name)) {
    return object.Invalid("name", "1 to 64 letters, digits, ., _ and -", name);
  }
  if (names->insert(name).second) return Status::Ok();
  return object.Invalid("name", "each once, and neither appearance nor search", name);
}

StatusOr<nlohmann::json> ObjectAt(const JsonObject& object, const char* key) {
  INTERLACER_RETURN_IF_ERROR(object.GetObject(key).status());
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* const value, object.Find(key));
  return *value;
}

Status ReadStages(const JsonObject& root, StudyPlan* plan) {
  INTERLACER_ASSIGN_OR_RETURN(const auto stages, root.GetObjects("stages"));
  std::set<std::string> names{"appearance", "search"};
  for (const JsonObject& object : stages) {
    INTERLACER_RETURN_IF_ERROR(object.AllowOnly({"name", "learning_rate_share", "training"}));
    PlannedStage& stage = plan->stages.emplace_back();
    INTERLACER_ASSIGN_OR_RETURN(stage.name, object.Get<std::string>("name"));
    INTERLACER_RETURN_IF_ERROR(CheckName(object, stage.name, &names));
    INTERLACER_ASSIGN_OR_RETURN(stage.learning_rate_share,
                                object.Get<double>("learning_rate_share"));
    INTERLACER_ASSIGN_OR_RETURN(stage.training, ObjectAt(object, "training"));
  }
  return plan->stages.empty() ? root.Invalid("stages", "at least one", "none") : Status::Ok();
}

Status ReadSearch(const JsonObject& root, StudyPlan* plan) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject search, root.GetObject("search"));
  INTERLACER_RETURN_IF_ERROR(search.AllowOnly({"seed", "step_count", "learning_rates"}));
  INTERLACER_ASSIGN_OR_RETURN(plan->search_seed, search.Get<std::int64_t>("seed"));
  INTERLACER_ASSIGN_OR_RETURN(plan->search_step_count, search.Get<std::int64_t>("step_count"));
  INTERLACER_ASSIGN_OR_RETURN(plan->learning_rates,
                              search.Get<std::vector<double>>("learning_rates"));
  if (plan->learning_rates.empty()) return search.Invalid("learning_rates", "at least one", "none");
  INTERLACER_ASSIGN_OR_RETURN(plan->seeds, root.Get<std::vector<std::int64_t>>("seeds"));
  std::set<std::int64_t> seeds(plan->seeds.begin(), plan->seeds.end());
  if (seeds.empty() || seeds.size() < plan->seeds.size()) {
    return root.Invalid("seeds", "at least one, each once", std::to_string(plan->seeds.size()));
  }
  if (seeds.contains(plan->search_seed)) {
    return search.Invalid("seed", "none of the study's seeds", std::to_string(plan->search_seed));
  }
  return Status::Ok();
}

/// Every variant has the same number of sizes, so that all have the same number of trials.
Status ReadVariants(const JsonObject& root, StudyPlan* plan) {
  INTERLACER_ASSIGN_OR_RETURN(const auto variants, root.GetObjects("variants"));
  std::set<std::string> names;
  for (const JsonObject& object : variants) {
    INTERLACER_RETURN_IF_ERROR(object.AllowOnly({"name", "models"}));
    PlannedVariant& variant = plan->variants.emplace_back();
    INTERLACER_ASSIGN_OR_RETURN(variant.name, object.Get<std::string>("name"));
    INTERLACER_RETURN_IF_ERROR(CheckName(object, variant.name, &names));
    INTERLACER_RETURN_IF_ERROR(object.GetObjects("models").status());
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* const models, object.Find("models"));
    variant.models.assign(models->begin(), models->end());
    if (variant.models.empty() || variant.models.size() != plan->variants[0].models.size()) {
      return object.Invalid("models", "as many as for the other variants, at least one",
                            std::to_string(variant.models.size()));
    }
  }
  return names.size() >= 2 ? Status::Ok()
                           : root.Invalid("variants", "at least two", std::to_string(names.size()));
}

Status ReadScoring(const JsonObject& root, StudyPlan* plan) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject scoring, root.GetObject("scoring"));
  INTERLACER_RETURN_IF_ERROR(scoring.AllowOnly({"render", "steps", "windows", "primary_metric"}));
  INTERLACER_ASSIGN_OR_RETURN(const std::string render, scoring.Get<std::string>("render"));
  if (render != "field" && render != "observed") {
    return scoring.Invalid("render", "field or observed", render);
  }
  plan->render_mode = render == "field" ? RenderMode::kField : RenderMode::kObserved;
  INTERLACER_ASSIGN_OR_RETURN(plan->rollout_steps, CountAt(scoring, "steps"));
  INTERLACER_ASSIGN_OR_RETURN(plan->window_count, CountAt(scoring, "windows"));
  INTERLACER_ASSIGN_OR_RETURN(plan->primary_metric, scoring.Get<std::string>("primary_metric"));
  std::string metrics;
  for (const std::string_view metric : kClaimMetrics) {
    if (metric == plan->primary_metric) return Status::Ok();
    metrics += (metrics.empty() ? "" : ", ") + std::string(metric);
  }
  return scoring.Invalid("primary_metric", "one of " + metrics, plan->primary_metric);
}

}  // namespace

std::vector<std::string> StudyPlan::VariantNames() const {
  std::vector<std::string> names;
  for (const PlannedVariant& variant : variants) names.push_back(variant.name);
  return names;
}

StatusOr<StudyPlan> ParseStudyPlan(const nlohmann::json& document) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Make(document));
  INTERLACER_RETURN_IF_ERROR(root.AllowOnly({"name", "episodes", "model", "training", "appearance",
                                             "stages", "search", "seeds", "variants", "scoring"}));
  StudyPlan plan;
  INTERLACER_ASSIGN_OR_RETURN(plan.name, root.Get<std::string>("name"));
  INTERLACER_RETURN_IF_ERROR(ReadEpisodes(root, &plan));
  INTERLACER_ASSIGN_OR_RETURN(plan.model, ObjectAt(root, "model"));
  INTERLACER_ASSIGN_OR_RETURN(plan.training, ObjectAt(root, "training"));
  INTERLACER_ASSIGN_OR_RETURN(plan.appearance, ObjectAt(root, "appearance"));
  INTERLACER_RETURN_IF_ERROR(ReadStages(root, &plan));
  INTERLACER_RETURN_IF_ERROR(ReadSearch(root, &plan));
  INTERLACER_RETURN_IF_ERROR(ReadVariants(root, &plan));
  INTERLACER_RETURN_IF_ERROR(ReadScoring(root, &plan));
  return plan;
}

StatusOr<StudyPlan> ReadStudyPlan(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ReadJsonFile(path));
  StatusOr<StudyPlan> plan = ParseStudyPlan(document);
  if (!plan.ok()) return plan.status().WithFieldPrefix(path + ":");
  return plan;
}

}  // namespace interlacer
