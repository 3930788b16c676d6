#pragma once

/// The known surface of rigid pieces, in the colours that were seen on it, for the gaps between
/// carried pixels.
///
/// A carried pixel is a disc as large as what it saw. Where a surface that was hidden or seen at a
/// grazing angle comes to face the camera, discs lie apart: what stands behind shows through, as if
/// the piece were torn. A robot's surface is known whole (robots/robot.h), if coarsely: each of its
/// points is a disc as large as the way to the next ones, in the mean colour of the pixels that
/// were seen near it on the same piece, else in the colour of the nearest point of that piece that
/// has one, else of the nearest of any. It is drawn for pieces that have moved, where it covers a
/// pixel wholly: over what lies clearly behind it, and where nothing lands.
///   points, normals in the frame of their piece; poses [pieces] world_from_piece
/// Deterministic. Threads: const methods may run together. Errors: those of ObservedRenderer.
/// Source: surface-splatting (elliptical discs).

#include <cstdint>
#include <span>
#include <vector>

#include "common/camera.h"
#include "common/geometry.h"
#include "common/status.h"
#include "render/observed_renderer.h"

namespace interlacer {

struct ShellPoints {
  std::span<const Vec3f> positions_m;    ///< [m]
  std::span<const Vec3f> normals;        ///< [m] unit
  std::span<const std::int64_t> pieces;  ///< [m]
};

class SurfaceShell {
 public:
  /// `start` are the poses at which `seen` was seen; `pixel_pieces` [n] the piece of each of its
  /// surfels, below 0 for none.
  static SurfaceShell Make(const ShellPoints& points, std::span<const Transform> start,
                           const ObservedRenderer& seen,
                           std::span<const std::int32_t> pixel_pieces);

  /// The pieces at `now`, those alone whose pose is another than at the start.
  StatusOr<ObservedPicture> Render(const Camera& camera, std::span<const Transform> now) const;
  /// Render, put under and between what `picture` of that camera shows.
  Status FillGaps(const Camera& camera, std::span<const Transform> now,
                  ObservedPicture* picture) const;

 private:
  struct Point {
    Vec3d position_m, normal;
    std::size_t piece;
    double step_m;  ///< to the points around it
    std::uint8_t rgb[3];
  };
  std::vector<Point> points_;
  std::vector<Transform> start_;
};

}  // namespace interlacer
