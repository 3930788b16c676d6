#pragma once

/// Pictures made of the very pixels that cameras saw, each carried to where it is now.
///
/// Every pixel with valid depth is a surfel: a point in the world with the pixel's colour and size.
/// A picture draws surfels as discs with a depth test: the front of a target pixel is the least
/// depth of the discs over it; surfels within a depth band behind it share the pixel, each weighed
/// by how near its centre is.
/// In the camera that recorded a frame, pixels whose own surfel has not moved keep their recorded
/// colour, bit for bit, unless a moved surfel is in front; so do pixels without depth unless a
/// moved surfel covers them. Elsewhere pixels without depth are holes.
///   positions_m [n,3] float32, world frame, metres, in the order of surfels()
/// Determinism: equal bits for any thread count. Errors: INVALID_ARGUMENT of ValidateCamera,
/// IMAGE_SIZE_MISMATCH, SHAPE_MISMATCH. Threads: const methods may run together.
/// Source: ours; discs with a depth band follow surface splatting.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/camera.h"
#include "common/image.h"
#include "common/status.h"

namespace interlacer {

/// A frame as it was recorded. Depth along z, NaN where not measured or not to be carried.
struct ObservedFrame {
  Camera camera;
  RgbImage color;
  DepthImage depth;
};

struct ObservedOptions {
  /// Surfels this far behind the front, as a share of its depth, still belong to the surface.
  double depth_band = 0.01;
  /// Discs reach at least this far, so that neighbouring pixels' discs meet.
  double min_radius_px = 0.75;
  double max_radius_px = 4;
  double near_m = 0.01;
};

struct ObservedPicture {
  FloatImage color;             ///< [h,w,3] in [0,1]; 0 where nothing lands
  DepthImage depth;             ///< z in metres, NaN where nothing lands or was measured
  std::vector<float> coverage;  ///< [h,w] in [0,1]: how much of the pixel discs cover
};

class ObservedRenderer {
 public:
  static StatusOr<ObservedRenderer> Make(std::vector<ObservedFrame> frames,
                                         const ObservedOptions& options = {});

  /// [n,3] where the surfels were seen.
  const std::vector<float>& positions_m() const { return positions_m_; }
  std::int64_t count() const { return static_cast<std::int64_t>(radius_m_.size()); }
  /// Frame and pixel (row * width + column) of each surfel.
  const std::vector<std::int32_t>& frame_of() const { return frame_of_; }
  const std::vector<std::int32_t>& pixel_of() const { return pixel_of_; }

  /// `camera` without lens distortion. A surfel has moved where its position differs in any bit.
  StatusOr<ObservedPicture> Render(const Camera& camera, std::span<const float> positions_m) const;

 private:
  std::vector<ObservedFrame> frames_;
  ObservedOptions options_;
  std::vector<float> positions_m_;
  std::vector<float> radius_m_;  ///< half a pixel's width where it was seen
  std::vector<std::int32_t> frame_of_, pixel_of_;
};

}  // namespace interlacer
