#include "model/training/step_draws.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/random.h"
#include "model/training/augmentation.h"

namespace interlacer {
namespace {

/// Draws of RandomStream::kAugmentation.
constexpr std::uint32_t kDensityDraw = 0, kYawDraw = 1, kColorDraw = 2;

bool RendersAnything(const TrainingConfig& training) {
  return training.video_weight > 0 || training.reconstruction_weight > 0;
}

SampleRequest RequestAt(const RunConfig& config, std::int64_t step) {
  const std::int64_t particles = ValueAt(config.training.particle_count, step);
  SampleRequest request;
  request.rollout_steps = ValueAt(config.training.rollout_steps, step);
  request.particle_count = particles > 0 ? particles : config.model.data.particle_count;
  request.moving_share = config.training.moving_sequence_share;
  request.with_views = RendersAnything(config.training);
  request.with_tracks = config.training.track_weight > 0;
  return request;
}

}  // namespace

SampleRequest RequestAt(const RunConfig& config, std::uint64_t seed, std::int64_t step,
                        int sequence) {
  SampleRequest request = RequestAt(config, step);
  request.index = step * config.training.batch_size + sequence;
  const double share = config.training.min_particle_share;
  if (share < 1) {
    RandomSequence random(seed, RandomStream::kAugmentation,
                          static_cast<std::uint32_t>(request.index), kDensityDraw);
    const double drawn = std::pow(share, random.Uniform());
    request.particle_count = std::max<std::int64_t>(
        1, std::llround(drawn * static_cast<double>(request.particle_count)));
  }
  return request;
}

void Augment(const TrainingConfig& training, std::uint64_t seed, std::int64_t index,
             TrainingSample* sample) {
  const auto draws = [&](std::uint32_t what) {
    return RandomSequence(seed, RandomStream::kAugmentation, static_cast<std::uint32_t>(index),
                          what);
  };
  if (training.random_yaw) {
    TurnSample(draws(kYawDraw).Uniform(0, 2 * std::numbers::pi), sample);
  }
  if (training.random_colors) RecolorSample(draws(kColorDraw), sample);
}

SequenceLossOptions LossOptionsAt(const TrainingConfig& training, std::uint64_t seed,
                                  std::int64_t step, std::int64_t index) {
  SequenceLossOptions result;
  result.ray_count = training.rays_per_step;
  result.moving_ray_share = training.moving_ray_share;
  result.reconstruction_weight = training.reconstruction_weight;
  result.video_weight = training.video_weight;
  result.depth_weight = training.depth_weight;
  result.track_weight = training.track_weight;
  result.random_background = training.random_background;
  result.regularization = {ValueAt(training.displacement_weight, step),
                           ValueAt(training.stretch_weight, step),
                           ValueAt(training.feature_change_weight, step)};
  result.reconstruction_jitter_m = ValueAt(training.reconstruction_jitter_m, step);
  result.seed = seed;
  result.draw_index = static_cast<std::uint32_t>(index);
  return result;
}

SampleRequest ValidationRequestAt(const RunConfig& config, std::int64_t step, int index) {
  SampleRequest request = RequestAt(config, step);
  request.split = Split::kValidation;
  request.index = index;
  return request;
}

SequenceLossOptions ValidationLossOptionsAt(const TrainingConfig& training, std::int64_t step,
                                            int index) {
  SequenceLossOptions options = LossOptionsAt(training, kValidationSeed, step, index);
  options.jitter_depth = false;
  options.reconstruction_jitter_m = 0;
  options.moving_ray_share = 0;
  options.shows_start = RendersAnything(training);
  return options;
}

}  // namespace interlacer
