#pragma once

/// From the depth of a pixel to its class and world point: the arithmetic that the CPU and CUDA
/// forms of data/unproject.h share. In double, with products and sums rounded apart
/// (-ffp-contract=off, -fmad=false), so that both give equal bytes. Lengths in metres. Pure
/// functions.

#include <cmath>
#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

enum class PixelClass : std::uint8_t { kHole, kOutside, kValid };

/// Where a camera stands, and what of its picture counts.
struct PixelLift {
  double world_from_camera[12] = {};  ///< [3,4], rotation and translation
  double box_min_m[3] = {};
  double box_max_m[3] = {};
  double near_m = 0;
  double far_m = 0;
};

/// Class of a pixel with ray (x/z, y/z) and depth z; writes the world point of a measured one.
INTERLACER_HOST_DEVICE inline PixelClass LiftPixel(const PixelLift& lift, double ray_x,
                                                   double ray_y, float depth_m, float* point_m) {
  constexpr float kLargestFloat = 3.402823466e38F;
  if (!(depth_m > 0 && depth_m <= kLargestFloat)) return PixelClass::kHole;
  const double z = depth_m, x = ray_x * z, y = ray_y * z;
  const double range_m = std::sqrt(x * x + y * y + z * z);
  bool inside = range_m >= lift.near_m && range_m <= lift.far_m;
  for (int axis = 0; axis < 3; ++axis) {
    const double* row = lift.world_from_camera + 4 * axis;
    point_m[axis] = static_cast<float>(row[0] * x + row[1] * y + row[2] * z + row[3]);
    const double p = point_m[axis];
    inside = inside && p >= lift.box_min_m[axis] && p <= lift.box_max_m[axis];
  }
  return inside ? PixelClass::kValid : PixelClass::kOutside;
}

}  // namespace interlacer
