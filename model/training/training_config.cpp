#include "model/training/training_config.h"

#include <algorithm>

#include "common/json.h"
#include "model/training/schedule_json.h"

namespace interlacer {
namespace {

using nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

OrderedJson TrainingToJson(const TrainingConfig& c) {
  OrderedJson out{{"step_count", c.step_count},
                  {"batch_size", c.batch_size},
                  {"rollout_steps", ScheduleToJson(c.rollout_steps)},
                  {"particle_count", ScheduleToJson(c.particle_count)},
                  {"rays_per_step", c.rays_per_step},
                  {"moving_ray_share", c.moving_ray_share},
                  {"reconstruction_weight", c.reconstruction_weight},
                  {"displacement_weight", ScheduleToJson(c.displacement_weight)},
                  {"learning_rate", ScheduleToJson(c.learning_rate)},
                  {"weight_decay", c.weight_decay},
                  {"gradient_clip_norm", c.gradient_clip_norm},
                  {"recompute_blocks", c.recompute_blocks},
                  {"checkpoint_every", c.checkpoint_every},
                  {"validation_every", c.validation_every},
                  {"validation_sample_count", c.validation_sample_count}};
  // Omitted where it is off, so that runs older than the field keep their run.json.
  if (c.average_decay > 0) out["average_decay"] = c.average_decay;
  if (c.appearance_step_count > 0) out["appearance_step_count"] = c.appearance_step_count;
  if (c.tf32) out["tf32"] = true;
  const TrainingConfig paper;
  if (c.video_weight != paper.video_weight) out["video_weight"] = c.video_weight;
  if (c.depth_weight > 0) out["depth_weight"] = c.depth_weight;
  if (c.track_weight > 0) out["track_weight"] = c.track_weight;
  if (c.moving_sequence_share > 0) out["moving_sequence_share"] = c.moving_sequence_share;
  if (c.random_background) out["random_background"] = true;
  if (c.min_particle_share != 1) out["min_particle_share"] = c.min_particle_share;
  if (c.random_yaw) out["random_yaw"] = true;
  if (c.random_colors) out["random_colors"] = true;
  if (c.freeze_appearance) out["freeze_appearance"] = true;
  if (c.stop_when_flat.window > 0) {
    out["stop_when_flat"] = {{"window", c.stop_when_flat.window},
                             {"min_improvement", c.stop_when_flat.min_improvement}};
  }
  if (c.stretch_weight != paper.stretch_weight) {
    out["stretch_weight"] = ScheduleToJson(c.stretch_weight);
  }
  if (c.feature_change_weight != paper.feature_change_weight) {
    out["feature_change_weight"] = ScheduleToJson(c.feature_change_weight);
  }
  if (c.reconstruction_jitter_m != paper.reconstruction_jitter_m) {
    out["reconstruction_jitter_m"] = ScheduleToJson(c.reconstruction_jitter_m);
  }
  return out;
}

StatusOr<TrainingConfig> ParseTraining(const JsonObject& o, TrainingConfig c) {
  INTERLACER_RETURN_IF_ERROR(o.AllowOnly({"step_count",
                                          "batch_size",
                                          "rollout_steps",
                                          "particle_count",
                                          "rays_per_step",
                                          "moving_ray_share",
                                          "reconstruction_weight",
                                          "video_weight",
                                          "depth_weight",
                                          "track_weight",
                                          "moving_sequence_share",
                                          "random_background",
                                          "min_particle_share",
                                          "random_yaw",
                                          "random_colors",
                                          "freeze_appearance",
                                          "displacement_weight",
                                          "stretch_weight",
                                          "feature_change_weight",
                                          "reconstruction_jitter_m",
                                          "appearance_step_count",
                                          "learning_rate",
                                          "weight_decay",
                                          "gradient_clip_norm",
                                          "average_decay",
                                          "recompute_blocks",
                                          "tf32",
                                          "checkpoint_every",
                                          "validation_every",
                                          "validation_sample_count",
                                          "stop_when_flat"}));
  INTERLACER_ASSIGN_OR_RETURN(c.step_count, o.GetOr<std::int64_t>("step_count", c.step_count));
  INTERLACER_ASSIGN_OR_RETURN(c.batch_size, o.GetOr<int>("batch_size", c.batch_size));
  INTERLACER_ASSIGN_OR_RETURN(c.rollout_steps, ScheduleOr(o, "rollout_steps", c.rollout_steps));
  INTERLACER_ASSIGN_OR_RETURN(c.particle_count, ScheduleOr(o, "particle_count", c.particle_count));
  INTERLACER_ASSIGN_OR_RETURN(c.rays_per_step, o.GetOr<int>("rays_per_step", c.rays_per_step));
  INTERLACER_ASSIGN_OR_RETURN(c.moving_ray_share,
                              o.GetOr<double>("moving_ray_share", c.moving_ray_share));
  INTERLACER_ASSIGN_OR_RETURN(c.reconstruction_weight,
                              o.GetOr<double>("reconstruction_weight", c.reconstruction_weight));
  INTERLACER_ASSIGN_OR_RETURN(c.video_weight, o.GetOr<double>("video_weight", c.video_weight));
  INTERLACER_ASSIGN_OR_RETURN(c.depth_weight, o.GetOr<double>("depth_weight", c.depth_weight));
  INTERLACER_ASSIGN_OR_RETURN(c.track_weight, o.GetOr<double>("track_weight", c.track_weight));
  INTERLACER_ASSIGN_OR_RETURN(c.moving_sequence_share,
                              o.GetOr<double>("moving_sequence_share", c.moving_sequence_share));
  INTERLACER_ASSIGN_OR_RETURN(c.random_background,
                              o.GetOr<bool>("random_background", c.random_background));
  INTERLACER_ASSIGN_OR_RETURN(c.min_particle_share,
                              o.GetOr<double>("min_particle_share", c.min_particle_share));
  INTERLACER_ASSIGN_OR_RETURN(c.random_yaw, o.GetOr<bool>("random_yaw", c.random_yaw));
  INTERLACER_ASSIGN_OR_RETURN(c.random_colors, o.GetOr<bool>("random_colors", c.random_colors));
  INTERLACER_ASSIGN_OR_RETURN(c.freeze_appearance,
                              o.GetOr<bool>("freeze_appearance", c.freeze_appearance));
  INTERLACER_ASSIGN_OR_RETURN(c.displacement_weight,
                              ScheduleOr(o, "displacement_weight", c.displacement_weight));
  INTERLACER_ASSIGN_OR_RETURN(c.stretch_weight, ScheduleOr(o, "stretch_weight", c.stretch_weight));
  INTERLACER_ASSIGN_OR_RETURN(c.feature_change_weight,
                              ScheduleOr(o, "feature_change_weight", c.feature_change_weight));
  INTERLACER_ASSIGN_OR_RETURN(c.reconstruction_jitter_m,
                              ScheduleOr(o, "reconstruction_jitter_m", c.reconstruction_jitter_m));
  INTERLACER_ASSIGN_OR_RETURN(
      c.appearance_step_count,
      o.GetOr<std::int64_t>("appearance_step_count", c.appearance_step_count));
  INTERLACER_ASSIGN_OR_RETURN(c.learning_rate, ScheduleOr(o, "learning_rate", c.learning_rate));
  INTERLACER_ASSIGN_OR_RETURN(c.weight_decay, o.GetOr<double>("weight_decay", c.weight_decay));
  INTERLACER_ASSIGN_OR_RETURN(c.gradient_clip_norm,
                              o.GetOr<double>("gradient_clip_norm", c.gradient_clip_norm));
  INTERLACER_ASSIGN_OR_RETURN(c.average_decay, o.GetOr<double>("average_decay", c.average_decay));
  INTERLACER_ASSIGN_OR_RETURN(c.recompute_blocks,
                              o.GetOr<bool>("recompute_blocks", c.recompute_blocks));
  INTERLACER_ASSIGN_OR_RETURN(c.tf32, o.GetOr<bool>("tf32", c.tf32));
  INTERLACER_ASSIGN_OR_RETURN(c.checkpoint_every,
                              o.GetOr<std::int64_t>("checkpoint_every", c.checkpoint_every));
  INTERLACER_ASSIGN_OR_RETURN(c.validation_every,
                              o.GetOr<std::int64_t>("validation_every", c.validation_every));
  INTERLACER_ASSIGN_OR_RETURN(c.validation_sample_count,
                              o.GetOr<int>("validation_sample_count", c.validation_sample_count));
  if (o.Has("stop_when_flat")) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject rule, o.GetObject("stop_when_flat"));
    INTERLACER_RETURN_IF_ERROR(rule.AllowOnly({"window", "min_improvement"}));
    INTERLACER_ASSIGN_OR_RETURN(c.stop_when_flat.window,
                                rule.GetOr<int>("window", c.stop_when_flat.window));
    INTERLACER_ASSIGN_OR_RETURN(
        c.stop_when_flat.min_improvement,
        rule.GetOr<double>("min_improvement", c.stop_when_flat.min_improvement));
  }
  return c;
}

/// Settings of the CPU presets: batches of one, a reconstruction term, and rays where something
/// moves, because two cores see thousands of steps where the paper sees 100,000. Encoder and
/// renderer are trained first, at a twentieth of the cost of a rollout, on clouds that are as
/// uneven as predicted ones; then they are frozen, because from rollouts they learn fog. The motion
/// of one step follows; long rollouts at the end teach particles at rest to stay, which shorter
/// ones do not. The last steps of the first and the last part are small and weights are averaged,
/// because the gradient of one sequence is noisy.
TrainingConfig SmallTraining() {
  TrainingConfig c;
  c.step_count = 3600;
  c.batch_size = 1;
  c.rollout_steps = {{0, 0}, {2000, 1}, {3000, 6}};
  c.rays_per_step = 512;
  c.moving_ray_share = 0.5;
  c.reconstruction_weight = 1.0;
  c.appearance_step_count = 2000;
  c.reconstruction_jitter_m = {{0, 0.02}};
  c.feature_change_weight = {{0, 0.01}, {3000, 0.1}};
  c.displacement_weight = {{0, 0.0}, {3000, 0.1}};
  c.stretch_weight = {{0, 0.0}, {3000, 10.0}};
  c.learning_rate = {{0, 6e-3},    {1000, 3e-3}, {1500, 1e-3}, {1800, 3e-4},
                     {2000, 2e-3}, {3000, 1e-3}, {3350, 3e-4}, {3550, 1e-4}};
  c.average_decay = 0.99;
  c.checkpoint_every = 100;
  c.validation_every = 400;
  return c;
}

}  // namespace

StatusOr<RunConfig> PresetRunConfig(std::string_view name) {
  RunConfig run;
  INTERLACER_ASSIGN_OR_RETURN(run.model, PresetConfig(name));
  if (name.starts_with("paper")) run.training.recompute_blocks = true;
  if (name.starts_with("small")) run.training = SmallTraining();
  return run;
}

namespace {

StatusOr<RunConfig> RunConfigOf(const json& document) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root,
                              JsonObject::Make(document, "", reason::CONFIG_INVALID));
  INTERLACER_RETURN_IF_ERROR(root.AllowOnly({"preset", "model", "training"}));
  INTERLACER_ASSIGN_OR_RETURN(const std::string preset, root.GetOr<std::string>("preset", "paper"));
  INTERLACER_ASSIGN_OR_RETURN(RunConfig run, PresetRunConfig(preset));
  if (root.Has("model")) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject model, root.GetObject("model"));
    INTERLACER_ASSIGN_OR_RETURN(run.model, ConfigFromJson(model));
  }
  if (root.Has("training")) {
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject training, root.GetObject("training"));
    INTERLACER_ASSIGN_OR_RETURN(run.training, ParseTraining(training, run.training));
  }
  INTERLACER_RETURN_IF_ERROR(ValidateTrainingConfig(run.training));
  return run;
}

}  // namespace

StatusOr<RunConfig> ParseRunConfigJson(std::string_view text, const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(
      const json document,
      ParseJson(text, path.empty() ? "the configuration" : path, reason::CONFIG_INVALID));
  StatusOr<RunConfig> run = RunConfigOf(document);
  if (run.ok() || path.empty()) return run;
  return run.status().WithFieldPrefix(path + ":");
}

std::string RunConfigToJson(const RunConfig& config) {
  return OrderedJson{{"model", ConfigToJson(config.model)},
                     {"training", TrainingToJson(config.training)}}
             .dump(2) +
         "\n";
}

Status ValidateTrainingConfig(const TrainingConfig& c) {
  const auto require = [](bool ok, const std::string& key, const char* expected, const json& got) {
    return ok ? Status::Ok()
              : Mismatch(reason::CONFIG_INVALID, "training." + key, expected, got.dump());
  };
  INTERLACER_RETURN_IF_ERROR(require(c.step_count > 0, "step_count", "> 0", c.step_count));
  INTERLACER_RETURN_IF_ERROR(require(c.batch_size > 0, "batch_size", "> 0", c.batch_size));
  INTERLACER_RETURN_IF_ERROR(require(c.rays_per_step > 0 && c.rays_per_step <= 65536,
                                     "rays_per_step", "1..65536", c.rays_per_step));
  INTERLACER_RETURN_IF_ERROR(require(c.moving_ray_share >= 0 && c.moving_ray_share <= 1,
                                     "moving_ray_share", "0..1", c.moving_ray_share));
  INTERLACER_RETURN_IF_ERROR(require(c.reconstruction_weight >= 0, "reconstruction_weight", ">= 0",
                                     c.reconstruction_weight));
  for (const auto& [name, weight] :
       {std::pair{"video_weight", c.video_weight}, std::pair{"depth_weight", c.depth_weight},
        std::pair{"track_weight", c.track_weight}}) {
    INTERLACER_RETURN_IF_ERROR(require(weight >= 0, name, ">= 0", weight));
  }
  INTERLACER_RETURN_IF_ERROR(require(c.video_weight > 0 || c.track_weight > 0, "video_weight",
                                     "> 0 without a track_weight", c.video_weight));
  INTERLACER_RETURN_IF_ERROR(
      require(!c.random_colors || (c.video_weight == 0 && c.reconstruction_weight == 0),
              "random_colors", "false where views are rendered", c.random_colors));
  INTERLACER_RETURN_IF_ERROR(require(c.moving_sequence_share >= 0 && c.moving_sequence_share <= 1,
                                     "moving_sequence_share", "0..1", c.moving_sequence_share));
  INTERLACER_RETURN_IF_ERROR(require(c.min_particle_share > 0 && c.min_particle_share <= 1,
                                     "min_particle_share", "above 0, at most 1",
                                     c.min_particle_share));
  INTERLACER_RETURN_IF_ERROR(require(c.weight_decay >= 0, "weight_decay", ">= 0", c.weight_decay));
  INTERLACER_RETURN_IF_ERROR(
      require(c.gradient_clip_norm > 0, "gradient_clip_norm", "> 0", c.gradient_clip_norm));
  INTERLACER_RETURN_IF_ERROR(require(c.average_decay >= 0 && c.average_decay < 1, "average_decay",
                                     "0 or more, below 1", c.average_decay));
  INTERLACER_RETURN_IF_ERROR(
      require(c.checkpoint_every > 0, "checkpoint_every", "> 0", c.checkpoint_every));
  INTERLACER_RETURN_IF_ERROR(
      require(c.validation_every > 0, "validation_every", "> 0", c.validation_every));
  INTERLACER_RETURN_IF_ERROR(require(c.validation_sample_count >= 0, "validation_sample_count",
                                     ">= 0", c.validation_sample_count));
  const FlatnessRule& flat = c.stop_when_flat;
  INTERLACER_RETURN_IF_ERROR(
      require(flat.window >= 0, "stop_when_flat.window", ">= 0", flat.window));
  INTERLACER_RETURN_IF_ERROR(require(flat.min_improvement >= 0 && flat.min_improvement < 1,
                                     "stop_when_flat.min_improvement", "0 or more, below 1",
                                     flat.min_improvement));
  INTERLACER_RETURN_IF_ERROR(require(flat.window == 0 || c.validation_sample_count > 0,
                                     "validation_sample_count", "> 0 beside stop_when_flat",
                                     c.validation_sample_count));
  INTERLACER_RETURN_IF_ERROR(require(c.appearance_step_count >= 0, "appearance_step_count", ">= 0",
                                     c.appearance_step_count));
  INTERLACER_RETURN_IF_ERROR(CheckSchedule(c.rollout_steps, "training.rollout_steps"));
  INTERLACER_RETURN_IF_ERROR(CheckSchedule(c.particle_count, "training.particle_count"));
  INTERLACER_RETURN_IF_ERROR(CheckSchedule(c.learning_rate, "training.learning_rate"));
  for (const auto& entry : c.rollout_steps) {
    const int least = c.reconstruction_weight > 0 ? 0 : 1;
    INTERLACER_RETURN_IF_ERROR(require(entry.value >= least && entry.value <= 64,
                                       "rollout_steps.value",
                                       "1..64, or 0 beside a reconstruction weight", entry.value));
  }
  INTERLACER_RETURN_IF_ERROR(require(!c.freeze_appearance || c.appearance_step_count == 0,
                                     "appearance_step_count", "0 beside freeze_appearance",
                                     c.appearance_step_count));
  // A reconstruction trains nothing once encoder and radiance field are frozen.
  const std::int64_t kept_from = c.appearance_step_count;
  for (std::size_t i = 0; (kept_from > 0 || c.freeze_appearance) && i < c.rollout_steps.size();
       ++i) {
    const std::int64_t end =
        i + 1 < c.rollout_steps.size() ? c.rollout_steps[i + 1].from_step : c.step_count;
    INTERLACER_RETURN_IF_ERROR(
        require(c.rollout_steps[i].value > 0 || std::min(end, c.step_count) <= kept_from,
                "rollout_steps.value", "above 0 from training.appearance_step_count on",
                c.rollout_steps[i].value));
  }
  for (const auto& entry : c.particle_count) {
    INTERLACER_RETURN_IF_ERROR(
        require(entry.value >= 0, "particle_count.value", ">= 0", entry.value));
  }
  for (const auto& [name, amount] :
       {std::pair{"displacement_weight", &c.displacement_weight},
        std::pair{"stretch_weight", &c.stretch_weight},
        std::pair{"feature_change_weight", &c.feature_change_weight},
        std::pair{"reconstruction_jitter_m", &c.reconstruction_jitter_m}}) {
    INTERLACER_RETURN_IF_ERROR(CheckSchedule(*amount, "training." + std::string(name)));
    for (const auto& entry : *amount) {
      INTERLACER_RETURN_IF_ERROR(
          require(entry.value >= 0, std::string(name) + ".value", ">= 0", entry.value));
    }
  }
  for (const auto& entry : c.learning_rate) {
    INTERLACER_RETURN_IF_ERROR(require(entry.value > 0, "learning_rate.value", "> 0", entry.value));
  }
  return Status::Ok();
}

}  // namespace interlacer
