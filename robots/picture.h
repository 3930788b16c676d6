#pragma once

/// A picture of a robot for people: its surface points as discs, a colour a link, from a
/// three-quarter view.
///
/// Parallel projection, z up, the whole robot in view. A disc lies in the tangent plane of its
/// point and is wide enough to meet its neighbours; the nearest one wins a pixel. Deterministic,
/// thread-safe.

#include <span>

#include "common/image.h"
#include "robots/robot.h"

namespace interlacer {

struct PictureOptions {
  int width_px = 640;
  int height_px = 640;
  double azimuth_deg = 35;    ///< of the viewer from +x towards +y
  double elevation_deg = 25;  ///< of the viewer above the floor
};

RgbImage DrawRobot(const Robot& robot, std::span<const double> joint_values,
                   const PictureOptions& options = {});

}  // namespace interlacer
