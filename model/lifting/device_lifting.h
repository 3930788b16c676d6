#pragma once

/// Frames to a particle cloud with features on a CUDA device: LiftObservation (data/unproject.h)
/// and LiftCloud (model/lifting/lifting.h) there, equal particles in equal order.
///
/// Frames travel to the device once; only the number of valid pixels, and colours, come back.
/// Errors: those of LiftObservation; StatusException DEVICE_LOST. Threads: as WorldModel.

#include <cstdint>
#include <span>
#include <vector>

#include "common/scene.h"
#include "data/unproject.h"
#include "model/network/world_model.h"

namespace interlacer {

/// Which pixels become particles.
struct ParticleDraw {
  std::int64_t count = 0;
  std::int64_t min_count = 0;
  std::uint64_t seed = 0;
  std::uint32_t time = 0;
};

struct LiftedCloud {
  CloudTensors cloud;
  std::vector<std::uint8_t> colors_rgb8;  ///< [n,3] of the source pixels, where wanted
  std::int64_t dropped_outlier_count = 0;
};

/// `views` of one size, images that fit their cameras.
StatusOr<LiftedCloud> LiftOnDevice(std::span<const RgbdView> views, const LiftRegion& region,
                                   const ParticleDraw& draw, bool with_colors, WorldModel* model);

}  // namespace interlacer
