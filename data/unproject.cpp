#include "data/unproject.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/check.h"
#include "common/random.h"
#include "common/thread_pool.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr std::int64_t kRowsPerChunk = 16;
constexpr std::int64_t kKeysPerChunk = 8192;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Depth to world points of one camera.
class PixelLifter {
 public:
  PixelLifter(const Camera& camera, const LiftRegion& region)
      : camera_(camera), lift_(PixelLiftOf(camera, region)) {
    // Rays of a lens model are only computed for measured pixels.
    if (camera.distortion_model == DistortionModel::kNone) rays_ = MakePixelRayTables(camera);
  }

  /// Classes of row `v_px`.
  void ClassifyRow(int v_px, std::span<const float> depths_m, PixelClass* classes) const {
    const std::size_t width = depths_m.size();
    Vec3f unused_m;
    if (rays_.x.empty()) {
      for (std::size_t u = 0; u < width; ++u) {
        classes[u] = Lift(static_cast<int>(u), v_px, depths_m[u], &unused_m);
      }
      return;
    }
    // Copies, which writing to `classes` cannot change: the compiler makes vectors of this.
    const PixelLift lift = lift_;
    const double* const ray_x = rays_.x.data();
    const double ray_y = rays_.y[v_px];
    for (std::size_t u = 0; u < width; ++u) {
      float point_m[3];
      classes[u] = LiftPixel(lift, ray_x[u], ray_y, depths_m[u], point_m);
    }
  }

  /// Class of the pixel; for valid ones its world point.
  PixelClass Lift(int u_px, int v_px, float depth_m, Vec3f* point_m) const {
    if (!rays_.x.empty()) {
      return LiftPixel(lift_, rays_.x[u_px], rays_.y[v_px], depth_m, point_m->data());
    }
    if (!(depth_m > 0)) return PixelClass::kHole;  // saves the lens model
    const std::array<double, 2> ray = UndistortPixel(camera_, u_px, v_px);
    return LiftPixel(lift_, ray[0], ray[1], depth_m, point_m->data());
  }

 private:
  const Camera& camera_;
  PixelLift lift_;
  PixelRayTables rays_;
};

void CheckSizes(const Camera& camera, const DepthImage& depth) {
  INTERLACER_CHECK(camera.width_px == depth.width_px && camera.height_px == depth.height_px,
                   "calibration and depth image differ in size");
  INTERLACER_CHECK(
      depth.pixels_m.size() == static_cast<std::size_t>(depth.width_px) * depth.height_px,
      "pixels do not fit the size");
}

/// Valid pixels of rows [row_begin, row_end).
LiftedPoints LiftRows(const DepthImage& depth, const PixelLifter& lifter, std::int64_t first_index,
                      std::int64_t row_begin, std::int64_t row_end) {
  LiftedPoints points;
  const std::size_t most = static_cast<std::size_t>((row_end - row_begin) * depth.width_px);
  points.positions_m.reserve(3 * most);
  points.source_index.reserve(most);
  Vec3f point_m;
  for (std::int64_t v = row_begin; v < row_end; ++v) {
    for (int u = 0; u < depth.width_px; ++u) {
      const std::int64_t pixel = v * depth.width_px + u;
      if (lifter.Lift(u, static_cast<int>(v), depth.pixels_m[pixel], &point_m) !=
          PixelClass::kValid) {
        continue;
      }
      for (float coordinate : point_m) points.positions_m.push_back(coordinate);
      points.source_index.push_back(first_index + pixel);
    }
  }
  return points;
}

/// The smallest number whose root, as rounded, is at least `root`: comparing squares with it is
/// comparing roots with `root`, without roots.
double LeastSquare(double root) {
  if (!(root > 0)) return 0;
  double square = root * root;
  while (std::sqrt(square) >= root) square = std::nextafter(square, 0.0);
  while (std::sqrt(square) < root) square = std::nextafter(square, kInfinity);
  return square;
}

template <typename T>
void PaintOutside(std::span<const PixelClass> classes, T white, std::vector<T>* pixels) {
  INTERLACER_CHECK(pixels->size() == 3 * classes.size(), "classes and colour differ in size");
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == PixelClass::kOutside) std::fill_n(&(*pixels)[3 * i], 3, white);
  }
}

}  // namespace

PixelLift PixelLiftOf(const Camera& camera, const LiftRegion& region) {
  PixelLift lift;
  const Matrix4d pose = ToMatrix(camera.world_from_camera);
  std::copy_n(pose.begin(), 12, lift.world_from_camera);
  std::copy_n(region.workspace.min_m.begin(), 3, lift.box_min_m);
  std::copy_n(region.workspace.max_m.begin(), 3, lift.box_max_m);
  lift.least_squared_m2 = LeastSquare(region.near_m);
  // Below the least square whose root lies above far_m.
  lift.most_squared_m2 =
      std::nextafter(LeastSquare(std::nextafter(region.far_m, kInfinity)), -kInfinity);
  return lift;
}

PixelRayTables MakePixelRayTables(const Camera& camera) {
  PixelRayTables rays;
  rays.per_pixel = camera.distortion_model != DistortionModel::kNone;
  if (!rays.per_pixel) {
    for (int u = 0; u < camera.width_px; ++u) rays.x.push_back(UndistortPixel(camera, u, 0)[0]);
    for (int v = 0; v < camera.height_px; ++v) rays.y.push_back(UndistortPixel(camera, 0, v)[1]);
    return rays;
  }
  rays.x.resize(static_cast<std::size_t>(camera.width_px) * camera.height_px);
  rays.y.resize(rays.x.size());
  ParallelFor(camera.height_px, kRowsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pixel = begin * camera.width_px; pixel < end * camera.width_px; ++pixel) {
      const std::array<double, 2> ray =
          UndistortPixel(camera, static_cast<double>(pixel % camera.width_px),
                         static_cast<double>(pixel / camera.width_px));
      rays.x[pixel] = ray[0];
      rays.y[pixel] = ray[1];
    }
  });
  return rays;
}

std::vector<PixelClass> ClassifyPixels(const Camera& camera, const DepthImage& depth,
                                       const LiftRegion& region) {
  CheckSizes(camera, depth);
  std::vector<PixelClass> classes(depth.pixels_m.size());
  const PixelLifter lifter(camera, region);
  const auto width = static_cast<std::size_t>(depth.width_px);
  ParallelFor(depth.height_px, kRowsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      const std::size_t first = static_cast<std::size_t>(v) * width;
      lifter.ClassifyRow(static_cast<int>(v), std::span(depth.pixels_m).subspan(first, width),
                         &classes[first]);
    }
  });
  return classes;
}

std::vector<PixelClass> ClassifyRows(const Camera& camera, const DepthImage& depth_of_rows,
                                     std::span<const int> rows_px, const LiftRegion& region) {
  const std::size_t width = static_cast<std::size_t>(camera.width_px);
  INTERLACER_CHECK(depth_of_rows.pixels_m.size() == width * rows_px.size(),
                   "depths do not fit the rows");
  std::vector<PixelClass> classes(depth_of_rows.pixels_m.size());
  const PixelLifter lifter(camera, region);
  for (std::size_t i = 0; i < rows_px.size(); ++i) {
    const auto depths_m = std::span(depth_of_rows.pixels_m).subspan(i * width, width);
    lifter.ClassifyRow(rows_px[i], depths_m, &classes[i * width]);
  }
  return classes;
}

LiftedPoints UnprojectViews(std::span<const RgbdView> views, const LiftRegion& region) {
  LiftedPoints points;
  std::int64_t first_index = 0;
  for (const RgbdView& view : views) {
    CheckSizes(view.camera, view.depth);
    const PixelLifter lifter(view.camera, region);
    const std::int64_t height = view.depth.height_px;
    std::vector<LiftedPoints> chunks((height + kRowsPerChunk - 1) / kRowsPerChunk);
    ParallelFor(height, kRowsPerChunk, [&](std::int64_t begin, std::int64_t end) {
      // Chunks are joined in order, so that the result does not depend on the number of threads.
      chunks[begin / kRowsPerChunk] = LiftRows(view.depth, lifter, first_index, begin, end);
    });
    for (const LiftedPoints& chunk : chunks) {
      points.positions_m.insert(points.positions_m.end(), chunk.positions_m.begin(),
                                chunk.positions_m.end());
      points.source_index.insert(points.source_index.end(), chunk.source_index.begin(),
                                 chunk.source_index.end());
    }
    first_index += static_cast<std::int64_t>(view.depth.pixels_m.size());
  }
  return points;
}

std::vector<std::int64_t> DrawSubset(std::int64_t candidate_count, std::int64_t count,
                                     std::uint64_t seed, std::uint32_t time) {
  std::vector<std::int64_t> chosen;
  if (candidate_count <= count) {
    chosen.resize(std::max<std::int64_t>(candidate_count, 0));
    std::iota(chosen.begin(), chosen.end(), 0);
    return chosen;
  }
  if (count <= 0) return chosen;
  std::vector<std::uint64_t> keys(candidate_count);
  ParallelFor(candidate_count, kKeysPerChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const PhiloxWords w = Philox(seed, static_cast<std::uint32_t>(RandomStream::kSubsample), time,
                                   static_cast<std::uint32_t>(c), 0);
      keys[c] = (static_cast<std::uint64_t>(w.word[1]) << 32) | w.word[0];
    }
  });
  std::vector<std::uint64_t> ordered = keys;
  // The largest key that still wins; of equal ones the first candidates are taken.
  std::nth_element(ordered.begin(), ordered.begin() + count - 1, ordered.end());
  const std::uint64_t largest = ordered[count - 1];
  std::int64_t ties_left =
      count - std::count_if(ordered.begin(), ordered.begin() + count,
                            [largest](std::uint64_t key) { return key < largest; });
  chosen.reserve(count);
  for (std::int64_t c = 0; c < candidate_count; ++c) {
    if (keys[c] < largest || (keys[c] == largest && ties_left-- > 0)) chosen.push_back(c);
  }
  return chosen;
}

LiftedPoints SelectPoints(const LiftedPoints& points, std::span<const std::int64_t> indices) {
  LiftedPoints selected;
  selected.positions_m.reserve(3 * indices.size());
  selected.source_index.reserve(indices.size());
  for (std::int64_t i : indices) {
    const float* position = points.positions_m.data() + 3 * i;
    selected.positions_m.insert(selected.positions_m.end(), position, position + 3);
    selected.source_index.push_back(points.source_index[i]);
  }
  return selected;
}

StatusOr<LiftedPoints> LiftObservation(std::span<const RgbdView> views, const LiftRegion& region,
                                       std::int64_t count, std::int64_t min_count,
                                       std::uint64_t seed, std::uint32_t time,
                                       const PointFilter& filter) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    const RgbdView& view = views[i];
    if (view.camera.width_px != view.depth.width_px ||
        view.camera.height_px != view.depth.height_px) {
      return Mismatch(
          reason::IMAGE_SIZE_MISMATCH, "views[" + std::to_string(i) + "].depth",
          std::to_string(view.camera.width_px) + " x " + std::to_string(view.camera.height_px),
          std::to_string(view.depth.width_px) + " x " + std::to_string(view.depth.height_px));
    }
  }
  LiftedPoints candidates = UnprojectViews(views, region);
  if (filter) {
    INTERLACER_ASSIGN_OR_RETURN(candidates, filter(candidates));
  }
  if (candidates.count() < min_count) {
    return TooFewValidPoints(min_count, candidates.count());
  }
  if (candidates.count() <= count) return candidates;
  return SelectPoints(candidates, DrawSubset(candidates.count(), count, seed, time));
}

Status TooFewValidPoints(std::int64_t min_count, std::int64_t got) {
  return Mismatch(
      reason::TOO_FEW_VALID_POINTS, "views",
      "at least " + std::to_string(min_count) + " pixels with depth inside workspace and range",
      std::to_string(got));
}

std::vector<std::uint8_t> ColorsOf(std::span<const RgbdView> views,
                                   std::span<const std::int64_t> source_index) {
  std::vector<std::uint8_t> colors;
  colors.reserve(3 * source_index.size());
  std::size_t view = 0;
  std::int64_t first_index = 0;
  for (std::int64_t index : source_index) {  // ascending, so views come in order
    while (index - first_index >= static_cast<std::int64_t>(views[view].depth.pixels_m.size())) {
      first_index += static_cast<std::int64_t>(views[view].depth.pixels_m.size());
      ++view;
    }
    const std::uint8_t* pixel = views[view].color.pixels.data() + 3 * (index - first_index);
    colors.insert(colors.end(), pixel, pixel + 3);
  }
  return colors;
}

void PaintOutsideWhite(std::span<const PixelClass> classes, RgbImage* color) {
  PaintOutside(classes, std::uint8_t{255}, &color->pixels);
}

void PaintOutsideWhite(std::span<const PixelClass> classes, FloatImage* color) {
  PaintOutside(classes, 1.F, &color->pixels);
}

}  // namespace interlacer
