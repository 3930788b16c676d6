#pragma once

/// The small configuration cut down to what a test needs: 256 particles, one block, 64x48 images.

#include "model/config.h"

namespace interlacer::testing {

inline InterlacerConfig TinyConfig() {
  InterlacerConfig config = *PresetConfig("small");
  config.name = "tiny";
  for (CameraSpec& camera : config.data.cameras) {
    camera.width_px = 64;
    camera.height_px = 48;
  }
  config.data.particle_count = 256;
  config.data.min_particle_count = 64;
  config.encoder.widths = {8, 16};
  config.network.width = 32;
  config.network.block_count = 1;
  config.network.local.key_width = 16;
  config.renderer.samples_per_ray = 24;
  config.renderer.hidden_width = 16;
  return config;
}

}  // namespace interlacer::testing
