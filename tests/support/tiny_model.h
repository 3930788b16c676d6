#pragma once

/// The small configuration reduced to what a test needs: 256 particles, one block, 64x48 images,
/// kernels twice as wide because the particles are farther apart; all that moves is learned.

#include "model/config.h"

namespace interlacer::testing {

inline InterlacerConfig TinyConfig() {
  InterlacerConfig config = *PresetConfig("small");
  config.name = "tiny";
  config.robot_motion = RobotMotion::kLearned;
  for (CameraSpec& camera : config.data.cameras) {
    camera.width_px = 64;
    camera.height_px = 48;
  }
  config.data.particle_count = 256;
  config.data.min_particle_count = 64;
  config.encoder.widths = {8, 16};
  config.graph.scope = GraphScope::kAll;
  config.network.width = 32;
  config.network.block_count = 1;
  config.network.motion_gate = false;
  config.network.min_displacement_m = 0;
  config.network.local.key_width = 16;
  config.renderer.kernel_radii_m = {0.f, .02f, .04f, .10f};
  config.renderer.kernel_bandwidths_m = {.02f, .02f, .02f, .10f};
  config.renderer.empty_radius_m = .35f;
  config.renderer.samples_per_ray = 24;
  config.renderer.hidden_width = 16;
  return config;
}

/// The tiny model for a robot that moves exactly, with a gate on the rest.
inline InterlacerConfig TinyExactConfig() {
  InterlacerConfig config = TinyConfig();
  config.robot_motion = RobotMotion::kKinematic;
  config.network.motion_gate = true;
  return config;
}

}  // namespace interlacer::testing
