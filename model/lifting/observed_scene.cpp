#include "model/lifting/observed_scene.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/check.h"
#include "common/thread_pool.h"
#include "data/rectified_view.h"
#include "render/narrow_holes.h"
#include "render/nearest_particles.h"

namespace interlacer {
namespace {

constexpr int kNeighborCount = 3;
/// Added to squared distances, so that the very pixel of a particle follows it.
constexpr float kCoincidentSqM2 = 1e-10f;
constexpr std::int64_t kPixelsPerChunk = 4096;

/// The frame as it is carried: rectified, with every depth that was measured. `is_outside` of each
/// pixel with depth, in order: what lies outside the region.
ObservedFrame FrameOf(const RgbdView& sent, const LiftRegion& region,
                      std::vector<std::uint8_t>* is_outside) {
  RgbdView view = RectifiedView(sent);
  const std::vector<PixelClass> classes = ClassifyPixels(view.camera, view.depth, region);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == PixelClass::kHole) {
      view.depth.pixels_m[i] = std::numeric_limits<float>::quiet_NaN();
    } else {
      is_outside->push_back(classes[i] == PixelClass::kOutside);
    }
  }
  return {std::move(view.camera), std::move(view.color), std::move(view.depth)};
}

/// What is outside now is white, and after narrow holes were filled at the far end of its ray:
/// until then its true depth tells that it is behind what the holes lie beside. The field knows no
/// better, blurs the outlines of what moves past, and costs rays.
Status FillAndPaintOutside(const Camera& camera, const LiftRegion& region,
                           ObservedPicture* picture) {
  const std::vector<PixelClass> classes = ClassifyPixels(camera, picture->depth, region);
  PaintOutsideWhite(classes, &picture->color);
  INTERLACER_RETURN_IF_ERROR(FillNarrowHoles(picture));
  const PixelRayTables rays = MakePixelRayTables(camera);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    float& depth_m = picture->depth.pixels_m[i];
    if (classes[i] != PixelClass::kOutside || std::isnan(depth_m)) continue;
    const auto width = static_cast<std::size_t>(camera.width_px);
    const double x = rays.x[i % width], y = rays.y[i / width];
    depth_m = static_cast<float>(region.far_m / std::sqrt(1 + x * x + y * y));
  }
  return Status::Ok();
}

/// Those of no link, and their places among all.
struct FreeParticles {
  std::vector<float> positions_m;
  std::vector<std::int32_t> indices;
};

FreeParticles FreeOf(std::span<const float> particles_m, std::span<const std::int32_t> links) {
  FreeParticles free;
  for (std::size_t i = 0; i < particles_m.size() / 3; ++i) {
    if (!links.empty() && links[i] != kNotAttached) continue;
    free.positions_m.insert(free.positions_m.end(), &particles_m[3 * i], &particles_m[3 * i] + 3);
    free.indices.push_back(static_cast<std::int32_t>(i));
  }
  return free;
}

/// Source pixels [first,last) under a destination pixel, and the share of the first and the last.
struct Covered {
  int first = 0, last = 0;
  double ShareOf(int i, int j, int source, int destination) const {
    const double scale = static_cast<double>(source) / destination;
    return std::min<double>(i + 1, (j + 1) * scale) - std::max<double>(i, j * scale);
  }
};

Covered CoveredBy(int j, int source, int destination) {
  const std::int64_t begin = std::int64_t{j} * source, end = begin + source;
  return {static_cast<int>(begin / destination),
          static_cast<int>((end + destination - 1) / destination)};
}

}  // namespace

StatusOr<ObservedScene> ObservedScene::Make(std::span<const RgbdView> views,
                                            const LiftRegion& region, const SceneMotion& start,
                                            const ObservedRobot& robot) {
  std::vector<ObservedFrame> frames;
  std::vector<std::uint8_t> is_outside;
  std::vector<Camera> cameras;
  for (const RgbdView& view : views) {
    frames.push_back(FrameOf(view, region, &is_outside));
    cameras.push_back(frames.back().camera);
  }
  INTERLACER_ASSIGN_OR_RETURN(ObservedRenderer renderer, ObservedRenderer::Make(std::move(frames)));
  ObservedScene scene(region, std::move(cameras), std::move(renderer));
  scene.start_particles_m_.assign(start.particles_m.begin(), start.particles_m.end());
  scene.start_links_.assign(start.links.begin(), start.links.end());

  const std::vector<float>& positions_m = scene.renderer_.positions_m();
  const auto count = static_cast<std::size_t>(scene.renderer_.count());
  scene.links_.assign(count, kNotAttached);
  if (robot.robot != nullptr) {
    scene.links_ = AttachPoints(*robot.robot, start.links, positions_m, robot.attach);
    const SurfacePoints& surface = robot.robot->surface;
    scene.shell_ = SurfaceShell::Make({surface.positions_m, surface.normals, surface.links},
                                      start.links, scene.renderer_, scene.links_);
  }
  const FreeParticles free = FreeOf(start.particles_m, robot.particle_links);
  // Pixels of no link. No particle was made outside, and the nearest ones may be of anything.
  INTERLACER_CHECK(is_outside.size() == count, "every measured pixel is carried");
  std::vector<std::size_t> pixels;
  std::vector<float> pixels_m;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_outside[i] != 0 || scene.links_[i] != kNotAttached) continue;
    pixels.push_back(i);
    pixels_m.insert(pixels_m.end(), &positions_m[3 * i], &positions_m[3 * i] + 3);
  }
  const NearestParticles nearest = FindNearestParticles(free.positions_m, pixels_m, kNeighborCount);
  scene.neighbors_.assign(kNeighborCount * count, kNoParticle);
  scene.weights_.assign(kNeighborCount * count, 0);
  for (std::size_t k = 0; k < pixels.size(); ++k) {
    std::int32_t* neighbors = &scene.neighbors_[kNeighborCount * pixels[k]];
    float* weights = &scene.weights_[kNeighborCount * pixels[k]];
    float sum = 0;
    for (std::size_t j = 0; j < kNeighborCount; ++j) {
      const std::size_t from = kNeighborCount * k + j;
      if (nearest.indices[from] == kNoParticle) continue;
      neighbors[j] = free.indices[static_cast<std::size_t>(nearest.indices[from])];
      weights[j] = 1 / (nearest.sq_dist_m2[from] + kCoincidentSqM2);
      sum += weights[j];
    }
    for (std::size_t j = 0; sum > 0 && j < kNeighborCount; ++j) weights[j] /= sum;
  }
  return scene;
}

std::vector<float> ObservedScene::PositionsAt(const SceneMotion& now) const {
  INTERLACER_CHECK(now.particles_m.size() == start_particles_m_.size() &&
                       now.links.size() == start_links_.size(),
                   "a step has the particles and links of its scene");
  const std::vector<float>& start_m = renderer_.positions_m();
  std::vector<float> positions_m(start_m.size());
  CarryPoints(links_, start_links_, now.links, start_m, positions_m);
  ParallelFor(renderer_.count(), kPixelsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (links_[i] != kNotAttached) continue;
      float moved_m[3] = {0, 0, 0};
      for (std::size_t at = kNeighborCount * i; at < kNeighborCount * (i + 1); ++at) {
        if (neighbors_[at] == kNoParticle) break;
        const std::size_t p = 3 * static_cast<std::size_t>(neighbors_[at]);
        for (std::size_t axis = 0; axis < 3; ++axis) {
          moved_m[axis] +=
              weights_[at] * (now.particles_m[p + axis] - start_particles_m_[p + axis]);
        }
      }
      for (std::size_t axis = 0; axis < 3; ++axis) {
        // Adding zero would turn -0 into 0.
        if (moved_m[axis] != 0) positions_m[3 * i + axis] += moved_m[axis];
      }
    }
  });
  return positions_m;
}

StatusOr<ObservedPicture> ObservedScene::Render(const Camera& camera,
                                                std::span<const float> positions_m,
                                                std::span<const Transform> links) const {
  const auto recorded = std::find_if(cameras_.begin(), cameras_.end(), [&](const Camera& frame) {
    return frame == camera || ResizedCamera(frame, camera.width_px, camera.height_px) == camera;
  });
  const Camera& drawn = recorded == cameras_.end() ? camera : *recorded;
  INTERLACER_ASSIGN_OR_RETURN(ObservedPicture picture,
                              renderer_.RenderNearestFirst(drawn, positions_m));
  INTERLACER_RETURN_IF_ERROR(shell_.FillGaps(drawn, links, &picture));
  INTERLACER_RETURN_IF_ERROR(FillAndPaintOutside(drawn, region_, &picture));
  return ResizedPicture(picture, camera.width_px, camera.height_px);
}

ObservedPicture ResizedPicture(const ObservedPicture& picture, int width_px, int height_px) {
  const int from_width = picture.color.width_px, from_height = picture.color.height_px;
  if (width_px == from_width && height_px == from_height) return picture;
  const std::size_t count = static_cast<std::size_t>(width_px) * height_px;
  ObservedPicture resized;
  resized.color = {width_px, height_px, 3, std::vector<float>(3 * count)};
  resized.depth = ResizeNearest(picture.depth, width_px, height_px);
  resized.coverage.resize(count);
  const double area =
      static_cast<double>(from_width) * from_height / (static_cast<double>(width_px) * height_px);
  ParallelFor(height_px, 8, [&](std::int64_t begin, std::int64_t end) {
    for (int y = static_cast<int>(begin); y < static_cast<int>(end); ++y) {
      const Covered rows = CoveredBy(y, from_height, height_px);
      for (int x = 0; x < width_px; ++x) {
        const Covered columns = CoveredBy(x, from_width, width_px);
        double sum[3] = {0, 0, 0}, covered = 0;
        for (int row = rows.first; row < rows.last; ++row) {
          const double height = rows.ShareOf(row, y, from_height, height_px);
          for (int column = columns.first; column < columns.last; ++column) {
            const std::size_t from = static_cast<std::size_t>(row) * from_width + column;
            const double weight =
                height * columns.ShareOf(column, x, from_width, width_px) * picture.coverage[from];
            covered += weight;
            for (std::size_t c = 0; c < 3; ++c) {
              sum[c] += weight * picture.color.pixels[3 * from + c];
            }
          }
        }
        const std::size_t at = static_cast<std::size_t>(y) * width_px + x;
        resized.coverage[at] = static_cast<float>(std::min(covered / area, 1.0));
        for (std::size_t c = 0; covered > 0 && c < 3; ++c) {
          resized.color.pixels[3 * at + c] = static_cast<float>(sum[c] / covered);
        }
      }
    }
  });
  return resized;
}

std::vector<std::int64_t> FieldPixels(const ObservedPicture& picture, int row_begin, int row_end,
                                      bool needs_depth) {
  const std::int64_t width = picture.color.width_px;
  std::vector<std::int64_t> pixels;
  for (std::int64_t i = row_begin * width; i < row_end * width; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool is_hole = picture.coverage[at] < kFullCoverage;
    if (is_hole || (needs_depth && !std::isfinite(picture.depth.pixels_m[at]))) pixels.push_back(i);
  }
  return pixels;
}

void BlendRows(const ObservedPicture& picture, int row_begin, int row_end,
               std::span<const std::int64_t> pixels, std::span<const float> field_rgb,
               std::span<const float> field_depth_m, FloatImage* color, DepthImage* depth) {
  const int width = picture.color.width_px, rows = row_end - row_begin;
  const auto first = static_cast<std::ptrdiff_t>(row_begin) * width;
  const auto last = static_cast<std::ptrdiff_t>(row_end) * width;
  const auto begin = picture.color.pixels.begin();
  *color = {width, rows, 3, {begin + 3 * first, begin + 3 * last}};
  const auto depth_begin = picture.depth.pixels_m.begin();
  *depth = {width, rows, {depth_begin + first, depth_begin + last}};
  for (std::size_t k = 0; k < pixels.size(); ++k) {
    const auto at = static_cast<std::size_t>(pixels[k] - first);
    depth->pixels_m[at] = field_depth_m[k];
    const float share = picture.coverage[static_cast<std::size_t>(pixels[k])] / kFullCoverage;
    if (share >= 1) continue;
    for (std::size_t c = 0; c < 3; ++c) {
      float& value = color->pixels[3 * at + c];
      value = share * value + (1 - share) * field_rgb[3 * k + c];
    }
  }
}

}  // namespace interlacer
