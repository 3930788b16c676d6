#pragma once

/// From the depth of a pixel to its class and world point: the arithmetic that the CPU and CUDA
/// forms of data/unproject.h share. In double, with products and sums rounded apart
/// (-ffp-contract=off, -fmad=false), so that both give equal bytes. Lengths in metres. Pure
/// functions.

#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

/// In the order of what is known: measured, and inside too.
enum class PixelClass : std::uint8_t { kHole, kOutside, kValid };

/// Where a camera stands, and what of its picture counts.
struct PixelLift {
  double world_from_camera[12] = {};  ///< [3,4], rotation and translation
  double box_min_m[3] = {};
  double box_max_m[3] = {};
  /// Of the squared range: the smallest and the largest whose root lies in near_m ... far_m.
  double least_squared_m2 = 0;
  double most_squared_m2 = 0;
};

/// Class of a pixel with ray (x/z, y/z) and depth z; writes the world point of a measured one, of
/// others anything. Without branches, so that compilers make vectors of a loop over pixels.
INTERLACER_HOST_DEVICE inline PixelClass LiftPixel(const PixelLift& lift, double ray_x,
                                                   double ray_y, float depth_m, float* point_m) {
  constexpr float kLargestFloat = 3.402823466e38F;
  const bool is_measured = (depth_m > 0) & (depth_m <= kLargestFloat);
  const double z = depth_m, x = ray_x * z, y = ray_y * z;
  const double squared_m2 = x * x + y * y + z * z;
  bool is_inside =
      (squared_m2 >= lift.least_squared_m2) & (squared_m2 <= lift.most_squared_m2) & is_measured;
  for (int axis = 0; axis < 3; ++axis) {
    const double* row = lift.world_from_camera + 4 * axis;
    point_m[axis] = static_cast<float>(row[0] * x + row[1] * y + row[2] * z + row[3]);
    const double p = point_m[axis];
    is_inside = is_inside & (p >= lift.box_min_m[axis]) & (p <= lift.box_max_m[axis]);
  }
  return static_cast<PixelClass>(static_cast<int>(is_measured) + static_cast<int>(is_inside));
}

}  // namespace interlacer
