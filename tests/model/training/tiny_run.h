#pragma once

/// The smallest training run that has every part: one block, 256 particles, 48 rays.

#include <string>

#include "model/training/trainer.h"
#include "tests/support/tiny_model.h"

namespace interlacer::testing {

inline TrainOptions TinyRun(const std::string& episode, const std::string& output_dir,
                            std::int64_t step_count) {
  TrainOptions options;
  InterlacerConfig& model = options.config.model;
  model = TinyConfig();
  for (CameraSpec& camera : model.data.cameras) camera = {camera.name, 32, 24};
  model.network.width = 16;
  model.network.global.head_count = 2;
  model.tokens.fourier_octaves = 2;
  model.renderer.samples_per_ray = 16;
  TrainingConfig& training = options.config.training;
  training.step_count = step_count;
  training.batch_size = 1;
  training.rollout_steps = {{0, 1}};
  training.rays_per_step = 48;
  training.reconstruction_weight = 1;
  training.learning_rate = {{0, 5e-3}};
  training.checkpoint_every = 2;
  options.datasets = {{episode, 1.0}};
  options.output_dir = output_dir;
  options.seed = 7;
  return options;
}

}  // namespace interlacer::testing
