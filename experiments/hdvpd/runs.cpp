#include "experiments/hdvpd/runs.h"

#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "common/json.h"
#include "common/model_metadata.h"
#include "common/sha256.h"
#include "evaluation/statistics.h"
#include "experiments/hdvpd/published.h"
#include "model/files/tensor_header.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr double kDivergedFactor = 2;
constexpr std::size_t kMinRunsToJudge = 3;

Status MissingRun(const TrainedRun& run) {
  return NotFound(reason::FILE_NOT_FOUND,
                  run.dir + " holds no trained run; make it by: interlacer train --config CONFIG" +
                      " --variant " + run.variant + " --seed " + std::to_string(run.seed) +
                      " --data TRAIN --data VAL --output " + run.dir)
      .WithField(run.dir);
}

StatusOr<nlohmann::json> ReadObject(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(nlohmann::json document, ReadJsonFile(path));
  INTERLACER_RETURN_IF_ERROR(JsonObject::Make(document, path).status());
  return document;
}

Status ReadLog(TrainedRun* run) {
  const std::string path = run->dir + "/metrics.jsonl";
  std::error_code error;
  if (!fs::exists(path, error)) {
    return NotFound(reason::FILE_NOT_FOUND, "no training log").WithField(path);
  }
  CellState log = ReadCell(run->dir);
  run->validations = std::move(log.validations);
  run->is_flat = log.is_flat;
  run->step_s = log.step_s;
  return Status::Ok();
}

/// Refuses a run that has not finished its schedule, whose scores would be taken for those of the
/// variant. The weights decide, because the log of a run that was killed may be ahead of them. A
/// run with damaged weights is let through: its evaluations fail with the reason, and the other
/// runs go on.
Status CheckFinished(const std::string& weights, TrainedRun* run) {
  const StatusOr<TensorMetadata> metadata = ReadTensorMetadata(weights);
  if (!metadata.ok()) return Status::Ok();
  const StatusOr<std::int64_t> steps = OptimizerSteps(*metadata);
  if (!steps.ok()) return steps.status().WithFieldPrefix(weights + ":");
  run->steps_done = *steps;
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject training, JsonObject::Make(run->training, run->dir));
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t step_count, training.GetOr("step_count", *steps));
  if (*steps >= step_count || run->is_flat) return Status::Ok();
  const std::string expected = "weights after " + std::to_string(step_count) + " training steps";
  const std::string got = "weights after " + std::to_string(*steps);
  return FailedPrecondition(reason::CHECKPOINT_INVALID,
                            run->checkpoint_dir() + ": expected " + expected + ", got " + got +
                                "; finish the run (interlacer train --resume), or leave its seed "
                                "out (--seeds)")
      .WithField(run->dir)
      .WithMetadata("expected", expected)
      .WithMetadata("got", got);
}

/// Reads the data, in which two runs must agree, and checks the seed; paths are left out because
/// they differ between machines, first weights because a stage begins with those of the stage
/// before.
Status ReadInputs(TrainedRun* run) {
  const std::string path = run->dir + "/inputs.json";
  std::error_code error;
  if (!fs::exists(path, error)) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(run->inputs, ReadObject(path));
  const nlohmann::json seed = run->inputs.value("seed", nlohmann::json());
  if (seed != nlohmann::json(run->seed)) {
    return Mismatch(reason::CONFIG_INVALID, path + ": seed", std::to_string(run->seed),
                    seed.dump());
  }
  for (const char* own : {"seed", "initial_weights_sha256", "initial_appearance_sha256"}) {
    run->inputs.erase(own);
  }
  for (nlohmann::json& dataset : run->inputs["data"]) {
    if (dataset.is_object()) dataset.erase("path");
  }
  return Status::Ok();
}

/// The kind of the local layer, or the name of a form of it that is a variant of its own.
std::string VariantOf(const nlohmann::json& config) {
  const nlohmann::json::json_pointer local("/network/local");
  const auto word = [&](const char* key) {
    const nlohmann::json::json_pointer place = local / key;
    return config.contains(place) && config[place].is_string() ? config[place].get<std::string>()
                                                               : std::string();
  };
  const std::string kind = word("kind");
  const bool is_ones = kind == kGrfVariant && word("mask_positivity") == "ones";
  return is_ones ? std::string(kOnesVariant) : kind;
}

StatusOr<TrainedRun> ReadTrainedRun(const std::string& runs_dir, const std::string& variant,
                                    std::int64_t seed) {
  TrainedRun run;
  run.variant = variant;
  run.seed = seed;
  run.dir = (fs::path(runs_dir) / run.name()).string();
  std::error_code error;
  const std::string weights = run.checkpoint_dir() + "/" + kWeightsFile;
  if (!fs::exists(weights, error)) return MissingRun(run);
  INTERLACER_ASSIGN_OR_RETURN(run.weights_sha256, Sha256OfFile(weights));
  const std::string config = run.checkpoint_dir() + "/config.json";
  INTERLACER_ASSIGN_OR_RETURN(run.config_sha256, Sha256OfFile(config));
  INTERLACER_ASSIGN_OR_RETURN(run.config, ReadObject(config));
  const std::string settings = run.dir + "/run.json";
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json whole, ReadObject(settings));
  run.training = whole.value("training", nlohmann::json::object());
  INTERLACER_RETURN_IF_ERROR(JsonObject::Make(run.training, settings + ": training").status());
  INTERLACER_RETURN_IF_ERROR(ReadInputs(&run));
  INTERLACER_RETURN_IF_ERROR(ReadLog(&run));
  INTERLACER_RETURN_IF_ERROR(CheckFinished(weights, &run));
  run.is_flat = run.is_flat || !run.training.contains("stop_when_flat");
  return run;
}

/// The configuration without what a variant may change: the layer with its sizes, and the width
/// that makes a network without one as large as the others.
nlohmann::json WithoutVariant(nlohmann::json config, bool is_ffn_variant) {
  config["network"].erase("local");
  if (is_ffn_variant) config["network"].erase("ffn_factor");
  return config;
}

/// The rate is chosen for each variant.
nlohmann::json WithoutRate(nlohmann::json training) {
  training.erase("learning_rate");
  return training;
}

Status CheckNoDifference(const nlohmann::json& reference, const nlohmann::json& got,
                         const std::string& place, const std::string& reference_name) {
  const nlohmann::json patch = nlohmann::json::diff(reference, got);
  if (patch.empty()) return Status::Ok();
  return Mismatch(reason::CONFIG_INVALID, place,
                  "that of " + reference_name + " but for the kind of the local layer",
                  "another " + patch[0]["path"].get<std::string>());
}

Status CheckEqualButForVariant(const TrainedRun& reference, const TrainedRun& run) {
  INTERLACER_RETURN_IF_ERROR(CheckVariantModel(
      {run.dir, run.variant, run.config}, {reference.name(), reference.variant, reference.config}));
  INTERLACER_RETURN_IF_ERROR(CheckNoDifference(WithoutRate(reference.training),
                                               WithoutRate(run.training), run.dir + ": training",
                                               reference.name()));
  const bool are_known = !reference.inputs.is_null() && !run.inputs.is_null();
  return are_known ? CheckNoDifference(reference.inputs, run.inputs, run.dir + ": inputs",
                                       reference.name())
                   : Status::Ok();
}

/// A run given twice would count as two.
template <typename T>
Status CheckDistinct(const std::vector<T>& values, const char* field) {
  if (std::set<T>(values.begin(), values.end()).size() == values.size()) return Status::Ok();
  return InvalidArgument(reason::ARGUMENT_INVALID, "expected each once, got one twice")
      .WithField(field);
}

void MarkDiverged(std::vector<TrainedRun>* runs) {
  for (TrainedRun& run : *runs) {
    std::vector<double> losses;
    for (const TrainedRun& other : *runs) {
      if (other.variant != run.variant) continue;
      if (const auto loss = other.LastValidationLoss()) losses.push_back(*loss);
    }
    const std::optional<double> own = run.LastValidationLoss();
    if (!own) continue;
    const std::optional<double> median = Percentile(losses, 0.5);
    run.has_diverged = !std::isfinite(*own) ||
                       (losses.size() >= kMinRunsToJudge && *own > kDivergedFactor * *median);
  }
}

}  // namespace

std::optional<double> TrainedRun::LastValidationLoss() const {
  if (validations.empty()) return std::nullopt;
  return validations.back().loss;
}

std::int64_t TrainedRun::UpdateCount() const {
  std::int64_t count = steps_done;
  for (const CellState& stage : earlier_stages) count += stage.steps;
  return count;
}

double TrainedRun::EarlierCpuSeconds() const {
  double seconds = 0;
  for (const CellState& stage : earlier_stages) {
    seconds += static_cast<double>(stage.steps) * stage.step_s;
  }
  return seconds;
}

Status CheckVariantModel(const VariantModel& model, const VariantModel& reference) {
  const std::string got = VariantOf(model.config);
  if (got != model.variant) {
    return Mismatch(reason::CONFIG_INVALID, model.place + ": network.local.kind", model.variant,
                    got);
  }
  const bool is_ffn_variant =
      reference.variant == kNoLocalVariant || model.variant == kNoLocalVariant;
  return CheckNoDifference(WithoutVariant(reference.config, is_ffn_variant),
                           WithoutVariant(model.config, is_ffn_variant), model.place + ": model",
                           reference.place);
}

StatusOr<std::vector<TrainedRun>> ReadTrainedRuns(const std::string& runs_dir,
                                                  const std::vector<std::string>& variants,
                                                  const std::vector<std::int64_t>& seeds,
                                                  const std::set<std::string>& left_out) {
  INTERLACER_RETURN_IF_ERROR(CheckDistinct(variants, "--variants"));
  INTERLACER_RETURN_IF_ERROR(CheckDistinct(seeds, "--seeds"));
  std::vector<TrainedRun> runs;
  for (const std::string& variant : variants) {
    for (const std::int64_t seed : seeds) {
      if (left_out.contains(variant + "-" + std::to_string(seed))) continue;
      INTERLACER_ASSIGN_OR_RETURN(TrainedRun run, ReadTrainedRun(runs_dir, variant, seed));
      runs.push_back(std::move(run));
      INTERLACER_RETURN_IF_ERROR(CheckEqualButForVariant(runs.front(), runs.back()));
    }
  }
  MarkDiverged(&runs);
  return runs;
}

void AddEarlierStages(const StudyPlan& plan, const std::string& cells_dir, TrainedRun* run) {
  for (std::size_t i = 0; i + 1 < plan.stages.size(); ++i) {
    const PlannedStage& stage = plan.stages[i];
    const CellState& log = run->earlier_stages.emplace_back(
        ReadCell(cells_dir + "/" + stage.name + "/" + run->name()));
    run->is_flat = run->is_flat && (log.is_flat || !stage.training.contains("stop_when_flat"));
  }
}

}  // namespace interlacer
