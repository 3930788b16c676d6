#pragma once

/// Options of the device's stages for inputs that take no time.

#include "bench/options.h"

namespace interlacer::bench {

inline Options SmallDeviceOptions() {
  Options options;
  options.device = "cuda";
  options.n = 300;
  options.d = 32;
  options.threads = 2;
  options.rounds = 1;
  options.seed = 11;
  options.image_width_px = 40;
  options.image_height_px = 24;
  return options;
}

}  // namespace interlacer::bench
