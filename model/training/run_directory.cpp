#include "model/training/run_directory.h"

#include <torch/utils.h>

#include <algorithm>
#include <filesystem>

#include "common/file_io.h"
#include "common/json.h"
#include "model/training/run_inputs.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr char kOptimizerFile[] = "/optimizer.safetensors";
constexpr char kOldSuffix[] = ".old";
constexpr char kPartialSuffix[] = ".partial";

/// An error that names the first key that differs, because a configuration is long.
Status OtherConfig(const std::string& path, const std::string& stored, const std::string& now) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json then, ParseJson(stored, path));
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json got, ParseJson(now, path));
  const nlohmann::json patch = nlohmann::json::diff(then, got);
  const std::string key = patch.empty() ? "" : patch[0].value("path", "");
  const auto text = [&](const nlohmann::json& config) {
    const nlohmann::json::json_pointer pointer(key);
    return config.contains(pointer) ? config.at(pointer).dump() : std::string("nothing");
  };
  return Mismatch(reason::CONFIG_INVALID, path + ": " + key,
                  text(then) + ", which the run began with", text(got));
}

/// Number of predicted steps in the longest rollout that the first `steps_done` steps trained on.
int LongestRollout(const TrainingConfig& config, std::int64_t steps_done) {
  int longest = 0;
  for (const auto& entry : config.rollout_steps) {
    if (entry.from_step < steps_done) longest = std::max(longest, entry.value);
  }
  return longest;
}

/// Copies every parameter except those for which `is_kept`; one that `from` lacks in this shape is
/// an error.
template <typename IsKept>
Status CopyEqual(const WorldModel& from, WorldModel* to, const IsKept& is_kept) {
  torch::NoGradGuard no_grad;
  const auto source = from.named_parameters();
  for (auto& item : to->named_parameters()) {
    if (is_kept(item.key())) continue;
    const torch::Tensor* value = source.find(item.key());
    if (value != nullptr && value->sizes() == item.value().sizes()) {
      item.value().copy_(*value);
    } else {
      return FailedPrecondition(reason::CHECKPOINT_INVALID,
                                "expected a checkpoint of the same configuration, got another")
          .WithField(item.key());
    }
  }
  return Status::Ok();
}

}  // namespace

Status CopyWeights(const WorldModel& from, WorldModel* to) {
  return CopyEqual(from, to, [](const std::string&) { return false; });
}

Status CopySharedWeights(const WorldModel& from, WorldModel* to) {
  const NetworkConfig &theirs = from.config().network, &ours = to->config().network;
  const bool is_other_local =
      theirs.local.kind != ours.local.kind || theirs.local.mechanism != ours.local.mechanism;
  const bool is_other_global = theirs.global.mechanism != ours.global.mechanism;
  return CopyEqual(from, to, [&](const std::string& name) {
    return name.starts_with("interlacer.") &&
           ((is_other_local && name.find(".local") != std::string::npos) ||
            (is_other_global && name.find(".global") != std::string::npos));
  });
}

bool IsAppearance(const std::string& parameter_name) {
  return parameter_name.starts_with("unet.") || parameter_name.starts_with("radiance_field.");
}

Status CopyAppearance(const WorldModel& from, WorldModel* to) {
  return CopyEqual(from, to, [](const std::string& name) { return !IsAppearance(name); });
}

Status PrepareRunDirectory(const TrainOptions& options, const RunPaths& paths) {
  const std::string text = RunConfigToJson(options.config);
  std::error_code error;
  if (fs::exists(paths.config())) {
    if (options.resume) {
      INTERLACER_ASSIGN_OR_RETURN(const std::string stored, ReadTextFile(paths.config()));
      if (stored != text) return OtherConfig(paths.config(), stored, text);
      const bool has_state =
          fs::exists(paths.checkpoint()) || fs::exists(paths.checkpoint() + kOldSuffix);
      return CheckRunInputs(options, paths.inputs(), has_state);
    }
    if (!options.overwrite) {
      return FailedPrecondition(reason::OUTPUT_EXISTS,
                                "a run is there already; resume it, overwrite it, or choose "
                                "another folder")
          .WithField(paths.dir);
    }
    // Half-renamed files of a killed run would otherwise be taken for those of the new run.
    for (const char* suffix : {"", kOldSuffix, kPartialSuffix}) {
      fs::remove_all(paths.checkpoint() + suffix, error);
      if (error) return CannotWrite(paths.checkpoint() + suffix, error);
    }
  }
  fs::create_directories(paths.dir, error);
  if (error) return CannotWrite(paths.dir, error);
  INTERLACER_RETURN_IF_ERROR(WriteRunInputs(options, paths.inputs()));
  return WriteFileAtomic(paths.config(), text);
}

Status SaveRunState(const RunPaths& paths, const WorldModel& model, const ModelOptimizer& optimizer,
                    const WeightEma* average, std::int64_t steps_done, const TrainOptions& options,
                    const std::string& robot_folder) {
  const std::string partial = paths.checkpoint() + kPartialSuffix;
  const std::string old = paths.checkpoint() + kOldSuffix;
  std::error_code error;
  fs::remove_all(partial, error);
  const TensorMetadata metadata{
      {kOptimizerStepsKey, std::to_string(steps_done)},
      {"trained_step_count", std::to_string(LongestRollout(options.config.training, steps_done))},
      {"seed", std::to_string(options.seed)}};
  INTERLACER_RETURN_IF_ERROR(
      SaveCheckpoint(partial, model, metadata, StoredWeights::kFloat32, robot_folder));
  NamedTensors state = optimizer.State();
  if (average != nullptr) state.merge(average->State());
  INTERLACER_RETURN_IF_ERROR(WriteTensorFile(partial + kOptimizerFile, {state, metadata}));
  fs::remove_all(old, error);
  if (fs::exists(paths.checkpoint())) {
    fs::rename(paths.checkpoint(), old, error);
    if (error) return CannotWrite(paths.checkpoint(), error);
  }
  fs::rename(partial, paths.checkpoint(), error);
  if (error) return CannotWrite(paths.checkpoint(), error);
  fs::remove_all(old, error);
  return Status::Ok();
}

StatusOr<std::int64_t> LoadRunState(const RunPaths& paths, WorldModel* model,
                                    ModelOptimizer* optimizer, WeightEma* average) {
  std::error_code error;
  // A run killed between the two renames of SaveRunState leaves only the old checkpoint.
  const std::string old = paths.checkpoint() + kOldSuffix;
  if (!fs::exists(paths.checkpoint()) && fs::exists(old)) {
    fs::rename(old, paths.checkpoint(), error);
    if (error) return CannotWrite(old, error);
  }
  if (!fs::exists(paths.checkpoint())) return std::int64_t{0};
  INTERLACER_ASSIGN_OR_RETURN(const Checkpoint stored, LoadCheckpoint(paths.checkpoint(), {}));
  INTERLACER_ASSIGN_OR_RETURN(const TensorFile state,
                              ReadTensorFile(paths.checkpoint() + kOptimizerFile));
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t steps, OptimizerSteps(stored.metadata));
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t optimizer_steps, OptimizerSteps(state.metadata));
  if (steps != optimizer_steps) {
    return Mismatch(reason::CHECKPOINT_INVALID, paths.checkpoint() + kOptimizerFile,
                    "the state after " + std::to_string(steps) + " steps",
                    std::to_string(optimizer_steps) + " steps");
  }
  INTERLACER_RETURN_IF_ERROR(CopyWeights(*stored.model, model));
  if (average != nullptr) {
    INTERLACER_RETURN_IF_ERROR(average->LoadState(state.tensors));
    average->Swap();
  }
  INTERLACER_RETURN_IF_ERROR(optimizer->LoadState(state.tensors));
  return steps;
}

}  // namespace interlacer
