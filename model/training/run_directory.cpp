#include "model/training/run_directory.h"

#include <torch/utils.h>

#include <algorithm>

#include "common/json.h"
#include "model/network/head.h"
#include "model/training/run_inputs.h"

namespace interlacer {
namespace {

constexpr char kOptimizerFile[] = "/optimizer.safetensors";

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
  if (theirs.contact_guess && !ours.contact_guess) {
    return Mismatch(reason::CONFIG_INVALID, "network.contact_guess",
                    "true, as of the checkpoint whose weights the run begins with", "false");
  }
  const int their_points = from.config().lifting.contact_point_count;
  if (their_points > 0 && to->config().lifting.contact_point_count == 0) {
    return Mismatch(reason::CONFIG_INVALID, "lifting.contact_point_count",
                    std::to_string(their_points) +
                        ", as of the checkpoint whose weights the run begins with, or another "
                        "number above 0",
                    "0");
  }
  const bool learns_trust = ours.contact_guess && !theirs.contact_guess;
  return CopyEqual(from, to, [&](const std::string& name) {
    if (learns_trust && name.starts_with(kTrustPrefix)) return true;
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
  // Before anything of an earlier run goes.
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::ordered_json inputs, RunInputs(options));
  const EarlierRun earlier = options.resume      ? EarlierRun::kResume
                             : options.overwrite ? EarlierRun::kOverwrite
                                                 : EarlierRun::kRefuse;
  INTERLACER_ASSIGN_OR_RETURN(const bool is_resumed,
                              OpenRunFolder(paths, RunConfigToJson(options.config), earlier,
                                            [&] { return WriteJsonFile(paths.inputs(), inputs); }));
  if (!is_resumed) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(const bool has_state, FindCheckpoint(paths));
  return CheckRunInputs(inputs, paths.inputs(), has_state);
}

Status CheckStateFits(std::int64_t parameter_count, bool has_average) {
  // Two moments of each parameter, and where weights are averaged those in training.
  const std::int64_t bytes_of_each = (has_average ? 3 : 2) * sizeof(float);
  const std::int64_t most =
      (kMaxTensorFileBytes - static_cast<std::int64_t>(kMaxTensorHeaderBytes)) / bytes_of_each;
  if (parameter_count <= most) return Status::Ok();
  return Mismatch(
      reason::CONFIG_INVALID, "network",
      "at most " + std::to_string(most) + " parameters, whose optimiser state fits in a file",
      std::to_string(parameter_count));
}

Status SaveRunState(const RunPaths& paths, const WorldModel& model, const ModelOptimizer& optimizer,
                    const WeightEma* average, std::int64_t steps_done, const TrainOptions& options,
                    const std::string& robot_folder) {
  const TensorMetadata metadata{
      {kOptimizerStepsKey, std::to_string(steps_done)},
      {"trained_step_count", std::to_string(LongestRollout(options.config.training, steps_done))},
      {"seed", std::to_string(options.seed)}};
  return ReplaceCheckpoint(paths, [&](const std::string& folder) -> Status {
    INTERLACER_RETURN_IF_ERROR(
        SaveCheckpoint(folder, model, metadata, StoredWeights::kFloat32, robot_folder));
    NamedTensors state = optimizer.State();
    if (average != nullptr) state.merge(average->State());
    return WriteTensorFile(folder + kOptimizerFile, {state, metadata});
  });
}

StatusOr<std::int64_t> LoadRunState(const RunPaths& paths, WorldModel* model,
                                    ModelOptimizer* optimizer, WeightEma* average) {
  INTERLACER_ASSIGN_OR_RETURN(const bool has_state, FindCheckpoint(paths));
  if (!has_state) return std::int64_t{0};
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
