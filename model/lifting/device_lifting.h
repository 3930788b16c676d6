#pragma once

/// Lifts camera frames to a particle cloud with features on a CUDA device. Particles and their
/// order equal those of LiftObservation (data/unproject.h) and LiftCloud (model/lifting/lifting.h).
///
/// Frames are copied to the device once; only the number of valid pixels, and colours, are copied
/// back. Errors: those of LiftObservation; StatusException DEVICE_LOST. Threads: as WorldModel.

#include <cstdint>
#include <span>
#include <vector>

#include "common/scene.h"
#include "data/unproject.h"
#include "model/clouds.h"

namespace interlacer {

class WorldModel;

/// Chooses the pixels that become particles.
struct ParticleDraw {
  std::int64_t count = 0;
  std::int64_t min_count = 0;
  std::uint64_t seed = 0;
  std::uint32_t time = 0;
};

struct LiftedCloud {
  CloudTensors cloud;
  std::vector<std::uint8_t> colors_rgb8;  ///< [n,3] of the source pixels, if requested
  std::int64_t dropped_outlier_count = 0;
  torch::Tensor encoded;  ///< [c,feature_width,h,w] of the views
};

/// `views` must have one size and images that fit their cameras. `encoded` of these views where
/// they were lifted before, by whatever draw; else undefined.
StatusOr<LiftedCloud> LiftOnDevice(std::span<const RgbdView> views, const LiftRegion& region,
                                   const ParticleDraw& draw, bool with_colors,
                                   const torch::Tensor& encoded, WorldModel* model);

}  // namespace interlacer
