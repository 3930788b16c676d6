#pragma once

/// One drawn picture of the simulated world. Values.

#include <cstdint>
#include <vector>

#include "common/image.h"

namespace interlacer::sim {

/// Labels of SimulatedView::mask; objects follow from kMaskFirstObject in the order of
/// SimulatedEpisode::object_names.
enum MaskLabel : std::uint8_t {
  kMaskRoom = 0,
  kMaskTable = 1,
  kMaskLeftArm = 2,
  kMaskRightArm = 3,
  kMaskFirstObject = 4,
};

struct SimulatedView {
  RgbImage color;
  DepthImage16 depth;
  std::vector<std::uint8_t> mask;  ///< [height,width] MaskLabel
};

}  // namespace interlacer::sim
