#pragma once

/// Settings of training: batch, rollout, rays, optimiser; with the JSON form of `train --config`.
///
/// Defaults are the paper's where it states them: batch 16, six rollout steps, 128 rays, AdamW with
/// 3e-4 then 1e-4 from step 1000, weight decay 1e-3, gradient norm 0.01. Errors: INVALID_ARGUMENT
/// CONFIG_INVALID naming the key. Value types, pure functions, thread-safe.
/// Source: grf-masking, App. C.3.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.h"
#include "model/config.h"
#include "model/training/early_stopping.h"
#include "model/training/schedule.h"

namespace interlacer {

struct TrainingConfig {
  std::int64_t step_count = 100000;
  int batch_size = 16;  ///< sequences whose gradients are averaged in one step
  /// Number of predicted steps of a sequence; 0 trains the reconstruction alone (encoder and
  /// renderer).
  Schedule<int> rollout_steps{{0, 6}};
  /// Number of particles per time; 0 means the model's own count.
  Schedule<std::int64_t> particle_count{{0, 0}};
  int rays_per_step = 128;
  /// Fraction of rays drawn where the target differs from the newest input frame.
  double moving_ray_share = 0.0;
  /// Weight of the reconstructed view (step 0); each predicted step has weight 1.
  double reconstruction_weight = 0.0;
  /// Weight of the squared colour error of each predicted step; 0 renders none of them.
  double video_weight = 1.0;
  /// Weight, per metre, of the error of rendered depth along the same rays (sequence_loss.h). It
  /// uses nothing that a user lacks: the input holds depth. Ours; 0 is the paper's loss.
  double depth_weight = 0.0;
  /// Weight, per metre, of the distance of particles to where they truly are in each predicted step
  /// (track_loss.h), for data sets that know. It renders nothing. Ours; 0 is the paper's loss.
  double track_weight = 0.0;
  /// So many sequences come from windows in which an object moves 1 cm or more, where a data set
  /// knows; in the others most of what can be learnt is to keep still. Validation too. Ours; 0
  /// draws all windows alike.
  double moving_sequence_share = 0.0;
  /// Draws a colour behind every ray instead of white, so that fog or holes before white things are
  /// errors. Ours; false is the paper's training.
  bool random_background = false;
  /// Draws the number of particles of each sequence between this share of particle_count and all,
  /// uniformly in its logarithm: dynamics that have seen clouds of many densities can be trained
  /// with few particles. 1 draws none.
  double min_particle_share = 1.0;
  /// Turns each sequence by a random angle around the vertical line through the middle of its
  /// workspace: where things are then tells little about how they move. Ours; false is the paper's
  /// training.
  bool random_yaw = false;
  /// Gives each sequence colours of its own (augmentation.h), so that motions do not depend on the
  /// colours of the data set's objects. Only where nothing is rendered. Ours; false is the paper's
  /// training.
  bool random_colors = false;
  /// Regularisation weight on mean particle displacement, per metre, in each predicted step, beside
  /// the squared colour error. Images hardly determine where particles of one colour go; a small
  /// weight keeps particles still that nothing moves. Before the model has learnt that arms move at
  /// all, the term keeps it from moving anything. Ours; 0 is the paper's loss.
  Schedule<double> displacement_weight{{0, 0.0}};
  /// Regularisation weights, per metre by which the distance of neighbours differs from the
  /// observed one and per unit of feature change (motion_regularization.h). Ours; 0 is the paper's
  /// loss.
  Schedule<double> stretch_weight{{0, 0.0}};
  Schedule<double> feature_change_weight{{0, 0.0}};
  /// Number of first steps in which encoder and radiance field learn; then they are frozen at their
  /// average (at their last weights where average_decay is 0). 0: they always learn. Without
  /// freezing, rollouts with an uncertain outcome teach them to render fog, and certain outcomes
  /// are rendered through the same fog. Ours; 0 is the paper's training.
  std::int64_t appearance_step_count = 0;
  /// Encoder and radiance field keep the values that the run begins with. Ours.
  bool freeze_appearance = false;
  /// Noise on the particles of the reconstructed view: normal, with a standard deviation drawn for
  /// every sequence between 0 and this many metres. It teaches the radiance field to show surfaces
  /// whose particles a prediction has pulled apart. Without it such surfaces get holes, and
  /// features learn to hide them in fog. Ours; 0 is the paper's training.
  Schedule<double> reconstruction_jitter_m{{0, 0.0}};
  Schedule<double> learning_rate{{0, 3e-4}, {1000, 1e-4}};
  double weight_decay = 1e-3;
  double gradient_clip_norm = 0.01;
  /// Decay per step of the EMA of weights that checkpoints and validation use (weight_ema.h); 0
  /// uses the weights of the last step.
  double average_decay = 0.0;
  /// Gradient checkpointing: keeps only the inputs of Interlacer blocks for the backward pass. Same
  /// bits, less memory, one more forward pass.
  bool recompute_blocks = false;
  /// On a CUDA device, torch's matrix products and convolutions round their operands to TF32 (10
  /// bits of mantissa). It holds for the whole process, validation included.
  bool tf32 = false;
  std::int64_t checkpoint_every = 500;
  std::int64_t validation_every = 500;
  int validation_sample_count = 8;
  /// Ends the run at the validation at which its loss (ValidationRecord) has flattened, before
  /// step_count. Losses before another value of rollout_steps or particle_count do not count. Off
  /// by default.
  FlatnessRule stop_when_flat;
  bool operator==(const TrainingConfig&) const = default;
};

/// Configuration of a run: {"preset": name, "model": object, "training": object}; each key is
/// optional. The preset comes first, then the model configuration as a whole, then single training
/// settings that replace the preset's.
struct RunConfig {
  InterlacerConfig model;
  TrainingConfig training;
};

/// Any preset of model/config.h, with its training settings.
StatusOr<RunConfig> PresetRunConfig(std::string_view name);
/// Errors name `path`, where one is given, before the key.
StatusOr<RunConfig> ParseRunConfigJson(std::string_view json, const std::string& path = "");
std::string RunConfigToJson(const RunConfig& config);
Status ValidateTrainingConfig(const TrainingConfig& config);

}  // namespace interlacer
