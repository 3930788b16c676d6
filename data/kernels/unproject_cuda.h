#pragma once

/// Depth images to world points on the device: the CUDA form of UnprojectViews and ClassifyPixels
/// (data/unproject.h), equal to them byte by byte.
///
/// The number of points stays on the device; arrays have room for every pixel. Contract:
/// common/kernels/cuda.h.

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/kernels/cuda.h"
#include "data/kernels/unproject_pixel.h"

namespace interlacer {

/// One camera. Rays are undistorted (x/z, y/z): without a lens model one number a column and one a
/// row, else one of each a pixel.
struct UnprojectViewDevice {
  PixelLift lift;
  int width_px = 0;
  int height_px = 0;
  const float* depth_m_device = nullptr;  ///< [height,width]
  const double* ray_x_device = nullptr;   ///< [width] or [height,width]
  const double* ray_y_device = nullptr;   ///< [height] or [height,width]
  bool ray_per_pixel = false;
};

/// All arrays hold the views one after another.
struct UnprojectedDevice {
  PixelClass* classes = nullptr;         ///< [pixels], or null
  float* positions_m = nullptr;          ///< [pixels,3], of which `count` are written
  std::int64_t* source_index = nullptr;  ///< [pixels], likewise; ascending
  std::int32_t* count = nullptr;         ///< [1]
};

std::size_t UnprojectWorkspaceBytes(std::int64_t pixel_count);

/// More than 2^31 - 1 pixels are refused with cudaErrorInvalidValue. `views` is read before return.
CudaError LaunchUnproject(std::span<const UnprojectViewDevice> views, void* workspace_device,
                          const UnprojectedDevice& result, CudaStream stream);

}  // namespace interlacer
