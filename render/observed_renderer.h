#pragma once

/// Pictures made of the very pixels that cameras saw, each carried to where it is now.
///
/// Every pixel with valid depth is a surfel: a point in the world with the pixel's colour. Its disc
/// is an ellipse that spans what the pixel saw, as far as its neighbours in the frame tell; where
/// these lie on another surface or moved elsewhere it is a circle. A surfel that turned its back is
/// not drawn.
/// The front of a target pixel is the least depth of the discs whose core covers it. Discs within a
/// depth band behind the front and what reaches in from nearer edges share the pixel, weighed by
/// how near their centres are; depth is that of the band alone, so edges do not mix depths.
/// In the camera that recorded a frame, pixels whose own surfel has not moved keep their recorded
/// colour, bit for bit, unless a moved surfel is in front; so do pixels without depth unless a
/// moved surfel covers them or one beside them moved. Elsewhere pixels without depth are holes. In
/// any camera, pixels that only surfels reach which have not moved are the same at every step.
///   positions_m [n,3] float32, world frame, metres, in the order of surfels()
/// A surfel has moved where its position is not the one where it was seen; without a finite
/// position it is not drawn. Determinism: equal bits for any thread count, and on a device. Errors:
/// INVALID_ARGUMENT of ValidateCamera, IMAGE_SIZE_MISMATCH, SHAPE_MISMATCH. Threads: const methods
/// may run together. Source: surface-splatting (elliptical discs
/// with a depth band).

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/camera.h"
#include "common/image.h"
#include "common/status.h"
#include "render/kernels/observed_disc.h"

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
  /// Neighbouring pixels whose discs meet; where they are farther apart there are holes.
  double max_step_px = 4;
  double near_m = 0.01;
};

/// Coverage from which a pixel shows what was observed and nothing else.
inline constexpr float kFullCoverage = 0.5f;

struct ObservedPicture {
  FloatImage color;             ///< [h,w,3] in [0,1]; 0 where nothing lands
  DepthImage depth;             ///< z in metres, NaN where nothing lands or was measured
  std::vector<float> coverage;  ///< [h,w] in [0,1]: how much of the pixel discs cover
};

/// Draws surfels in the place of the host, with equal bits but for the payload of NaN. Threads: may
/// draw several pictures at once. Errors: exceptions of its device, which the renderer lets pass.
class SurfelDrawer {
 public:
  virtual ~SurfelDrawer() = default;
  /// All pointers are to memory of the host.
  virtual ObservedPicture Draw(const DiscView& view, const SurfelArrays& surfels) const = 0;
};

class ObservedRenderer {
 public:
  static StatusOr<ObservedRenderer> Make(std::vector<ObservedFrame> frames,
                                         const ObservedOptions& options = {});

  /// From now on pictures are drawn by `drawer`.
  void DrawBy(std::shared_ptr<const SurfelDrawer> drawer) { drawer_ = std::move(drawer); }

  const std::vector<ObservedFrame>& frames() const { return frames_; }
  /// [n,3] where the surfels were seen.
  const std::vector<float>& positions_m() const { return positions_m_; }
  std::int64_t count() const { return static_cast<std::int64_t>(pixel_m_.size()); }
  /// Frame and pixel (row * width + column) of each surfel.
  const std::vector<std::int32_t>& frame_of() const { return frame_of_; }
  const std::vector<std::int32_t>& pixel_of() const { return pixel_of_; }
  /// [n,3] colours.
  const std::vector<std::uint8_t>& rgb() const { return rgb_; }

  /// `camera` without lens distortion.
  StatusOr<ObservedPicture> Render(const Camera& camera, std::span<const float> positions_m) const;

  /// As Render, with the colours of the nearest camera's frame, in a recorded camera its own,
  /// wherever it covers what is in front: frames are sampled at other places and lit otherwise, and
  /// their mean is a blur. In cameras that recorded nothing also surfels that have not moved show
  /// what the nearest one's frame saw, and those of farther ones only where nearer ones show
  /// nothing or lie 5 % of their depth or more behind: depths and poses of two cameras disagree;
  /// gaps of a few pixels within a surface of one frame are closed from their sides. Two pictures,
  /// there one more than frames.
  StatusOr<ObservedPicture> RenderNearestFirst(const Camera& camera,
                                               std::span<const float> positions_m) const;

  /// What Render draws: pointers into this object and to the caller's positions.
  SurfelArrays SurfelsAt(const float* positions_m) const;
  StatusOr<DiscView> ViewFrom(const Camera& camera) const;

 private:
  /// Render with the colours of one frame wherever it covers what is in front.
  StatusOr<ObservedPicture> RenderPreferring(std::int32_t frame, const Camera& camera,
                                             std::span<const float> positions_m) const;

  std::vector<ObservedFrame> frames_;
  ObservedOptions options_;
  std::shared_ptr<const SurfelDrawer> drawer_;  ///< null: the host draws
  std::vector<float> positions_m_, pixel_m_;
  std::vector<std::uint8_t> rgb_;
  std::vector<SurfelNeighbors> neighbors_;
  std::vector<std::int32_t> frame_of_, pixel_of_;
};

}  // namespace interlacer
