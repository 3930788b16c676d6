#pragma once

/// Turns depth images into particles: pixel classes, unprojection to points, the seeded draw.
///
/// A pixel is valid when its depth is finite and above 0, near <= |X_c| <= far (Euclidean length of
/// the point in the camera frame) and the world point lies in the box; outside when it was measured
/// but fails one of these; a hole when it was not measured.
///   positions_m   [n,3] float32, world frame, metres
///   source_index  [n] int64: pixels of all preceding views + row * width + column; for views of
///                 one size this is (view * height + row) * width + column
/// Order: views as given, each row-major; the draw keeps this order. Rays are undistorted.
/// Determinism: equal inputs give equal bytes for any thread count.
/// Errors of LiftObservation: INVALID_ARGUMENT TOO_FEW_VALID_POINTS, IMAGE_SIZE_MISMATCH, those of
/// its filter; the others take images that fit their cameras. Thread-safe.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/camera.h"
#include "common/geometry.h"
#include "common/image.h"
#include "common/scene.h"
#include "common/status.h"
#include "data/kernels/unproject_pixel.h"

namespace interlacer {

/// Limits of the points that may become particles.
struct LiftRegion {
  Box workspace;
  double near_m = 0.1;
  double far_m = 2.0;
};

struct LiftedPoints {
  std::vector<float> positions_m;
  std::vector<std::int64_t> source_index;
  std::int64_t count() const { return static_cast<std::int64_t>(source_index.size()); }
};

/// The parameters of LiftPixel for a camera.
PixelLift PixelLiftOf(const Camera& camera, const LiftRegion& region);

/// Undistorted rays (x/z, y/z): without a lens model one number a column and one a row, else one of
/// each a pixel.
struct PixelRayTables {
  std::vector<double> x, y;
  bool per_pixel = false;
};
PixelRayTables MakePixelRayTables(const Camera& camera);

/// [height,width] class of each pixel.
std::vector<PixelClass> ClassifyPixels(const Camera& camera, const DepthImage& depth,
                                       const LiftRegion& region);

/// The same for rows of the picture by their numbers: [rows,width], as `depth_of_rows`.
std::vector<PixelClass> ClassifyRows(const Camera& camera, const DepthImage& depth_of_rows,
                                     std::span<const int> rows_px, const LiftRegion& region);

/// All valid pixels.
LiftedPoints UnprojectViews(std::span<const RgbdView> views, const LiftRegion& region);

/// `count` of the candidates 0 ... candidate_count - 1, uniformly without replacement, ascending;
/// all of them if there are no more. Candidate c has the 64-bit key Philox(seed, kSubsample,
/// `time`, c); the smallest keys win, ties go to the lower c.
std::vector<std::int64_t> DrawSubset(std::int64_t candidate_count, std::int64_t count,
                                     std::uint64_t seed, std::uint32_t time);

LiftedPoints SelectPoints(const LiftedPoints& points, std::span<const std::int64_t> indices);

/// Removes points and keeps the order of the others.
using PointFilter = std::function<StatusOr<LiftedPoints>(const LiftedPoints& points)>;

/// UnprojectViews, `filter` where there is one, and DrawSubset; fewer than `min_count` points to
/// draw from are an error.
StatusOr<LiftedPoints> LiftObservation(std::span<const RgbdView> views, const LiftRegion& region,
                                       std::int64_t count, std::int64_t min_count,
                                       std::uint64_t seed, std::uint32_t time,
                                       const PointFilter& filter = {});

/// The error for a cloud of `got` points.
Status TooFewValidPoints(std::int64_t min_count, std::int64_t got);

/// [n,3] colours of the source pixels; `source_index` ascending, as UnprojectViews gives it.
std::vector<std::uint8_t> ColorsOf(std::span<const RgbdView> views,
                                   std::span<const std::int64_t> source_index);

/// The frame as a target: pixels that show something outside the region become white.
void PaintOutsideWhite(std::span<const PixelClass> classes, RgbImage* color);
void PaintOutsideWhite(std::span<const PixelClass> classes, FloatImage* color);

}  // namespace interlacer
