#include "render/observed_renderer.h"

#include <cmath>
#include <string>
#include <utility>

#include "common/thread_pool.h"
#include "render/draw_discs.h"

namespace interlacer {
namespace {

constexpr std::int64_t kSurfelGrain = 4096;
constexpr int kRowGrain = 24;
/// Neighbours of a surfel are up to so many pixels away: noise of the depth turns its disc less.
constexpr int kNeighborReachPx = 2;
/// A surface goes on to the next pixel unless depth changes by more than so many pixel widths.
constexpr double kMaxSlope = 8;

bool HasDepth(float depth_m) { return std::isfinite(depth_m) && depth_m > 0; }

bool IsSameView(const Camera& a, const Camera& b) {
  return a.width_px == b.width_px && a.height_px == b.height_px && a.fx_px == b.fx_px &&
         a.fy_px == b.fy_px && a.cx_px == b.cx_px && a.cy_px == b.cy_px &&
         a.distortion_model == DistortionModel::kNone &&
         b.distortion_model == DistortionModel::kNone && a.world_from_camera == b.world_from_camera;
}

Status CheckFrame(const ObservedFrame& frame, std::size_t index) {
  const std::string field = "frames[" + std::to_string(index) + "]";
  if (Status status = ValidateCamera(frame.camera); !status.ok()) {
    return std::move(status).WithFieldPrefix(field + ".camera.");
  }
  const auto size = [](int width_px, int height_px) {
    return std::to_string(width_px) + "x" + std::to_string(height_px);
  };
  const Camera& camera = frame.camera;
  const std::size_t pixels = static_cast<std::size_t>(camera.width_px) * camera.height_px;
  if (frame.color.width_px != camera.width_px || frame.color.height_px != camera.height_px ||
      frame.color.pixels.size() != 3 * pixels) {
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, field + ".color",
                    size(camera.width_px, camera.height_px),
                    size(frame.color.width_px, frame.color.height_px));
  }
  if (frame.depth.width_px != camera.width_px || frame.depth.height_px != camera.height_px ||
      frame.depth.pixels_m.size() != pixels) {
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, field + ".depth",
                    size(camera.width_px, camera.height_px),
                    size(frame.depth.width_px, frame.depth.height_px));
  }
  return Status::Ok();
}

/// How the surface around each pixel with depth goes on, as numbers of surfels.
class SurfaceWalk {
 public:
  SurfaceWalk(const ObservedFrame& frame, std::int32_t first_surfel)
      : frame_(frame),
        max_slope_(kMaxSlope / std::sqrt(frame.camera.fx_px * frame.camera.fy_px)),
        surfel_at_(frame.depth.pixels_m.size(), -1) {
    for (std::size_t pixel = 0; pixel < surfel_at_.size(); ++pixel) {
      if (HasDepth(frame.depth.pixels_m[pixel])) surfel_at_[pixel] = first_surfel++;
    }
  }

  SurfelNeighbors At(int row, int column) const {
    SurfelNeighbors near;
    const int left = Walk(row, column, 0, -1, &near.left);
    const int right = Walk(row, column, 0, 1, &near.right);
    const int above = Walk(row, column, -1, 0, &near.above);
    const int below = Walk(row, column, 1, 0, &near.below);
    if (left + right > 0) near.per_column = 1 / static_cast<float>(left + right);
    if (above + below > 0) near.per_row = 1 / static_cast<float>(above + below);
    return near;
  }

 private:
  std::size_t PixelAt(int row, int column) const {
    return static_cast<std::size_t>(row) * frame_.camera.width_px + column;
  }

  /// The number of pixels that the surface goes on, and the surfel there.
  int Walk(int row, int column, int down, int right, std::int32_t* surfel) const {
    std::size_t at = PixelAt(row, column);
    int count = 0;
    while (count < kNeighborReachPx) {
      row += down, column += right;
      if (row < 0 || row >= frame_.camera.height_px || column < 0 ||
          column >= frame_.camera.width_px) {
        break;
      }
      const std::size_t next = PixelAt(row, column);
      const double here_m = frame_.depth.pixels_m[at], next_m = frame_.depth.pixels_m[next];
      if (surfel_at_[next] < 0 || std::abs(next_m - here_m) > max_slope_ * here_m) break;
      at = next;
      ++count;
    }
    *surfel = surfel_at_[at];
    return count;
  }

  const ObservedFrame& frame_;
  const double max_slope_;  ///< metres of depth a pixel, for a depth of one metre
  std::vector<std::int32_t> surfel_at_;
};

ObservedPicture DrawOnHost(const DiscView& view, const SurfelArrays& surfels) {
  const std::size_t pixel_count = static_cast<std::size_t>(view.width_px) * view.height_px;
  std::vector<std::uint8_t> is_still(pixel_count, 1), is_kept(pixel_count, 0);
  std::vector<SurfelPixel> pixels(static_cast<std::size_t>(surfels.count));
  ParallelFor(surfels.count, kSurfelGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      pixels[static_cast<std::size_t>(i)] = ProjectSurfel(view, surfels.positions_m + 3 * i);
      if (surfels.frame_of[i] == view.own_frame && HasMoved(surfels, i)) {
        is_still[static_cast<std::size_t>(surfels.pixel_of[i])] = 0;
      }
    }
  });
  ParallelFor(view.height_px, kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (int row = static_cast<int>(begin); row < end; ++row) {
      for (int column = 0; column < view.width_px; ++column) {
        is_kept[static_cast<std::size_t>(row) * view.width_px + column] =
            KeepsColor(view, is_still.data(), row, column);
      }
    }
  });
  std::vector<Disc> discs(static_cast<std::size_t>(surfels.count));
  ParallelFor(surfels.count, kSurfelGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      // The pixel of an unmoved surfel is kept instead.
      if (surfels.frame_of[i] == view.own_frame && !HasMoved(surfels, i)) continue;
      discs[static_cast<std::size_t>(i)] = MakeDisc(view, surfels, pixels.data(), i);
    }
  });
  return DrawDiscs(view, discs, is_kept);
}

}  // namespace

StatusOr<ObservedRenderer> ObservedRenderer::Make(std::vector<ObservedFrame> frames,
                                                  const ObservedOptions& options) {
  ObservedRenderer renderer;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    INTERLACER_RETURN_IF_ERROR(CheckFrame(frames[f], f));
    const ObservedFrame& frame = frames[f];
    const Camera& camera = frame.camera;
    const SurfaceWalk walk(frame, static_cast<std::int32_t>(renderer.count()));
    const double pixel_m = 1 / std::sqrt(camera.fx_px * camera.fy_px);
    for (int row = 0; row < camera.height_px; ++row) {
      for (int column = 0; column < camera.width_px; ++column) {
        const int pixel = row * camera.width_px + column;
        const float depth_m = frame.depth.pixels_m[static_cast<std::size_t>(pixel)];
        if (!HasDepth(depth_m)) continue;
        for (const double x : Unproject(camera, column, row, depth_m)) {
          renderer.positions_m_.push_back(static_cast<float>(x));
        }
        const auto rgb = frame.color.pixels.begin() + 3 * static_cast<long>(pixel);
        renderer.rgb_.insert(renderer.rgb_.end(), rgb, rgb + 3);
        renderer.pixel_m_.push_back(static_cast<float>(depth_m * pixel_m));
        renderer.neighbors_.push_back(walk.At(row, column));
        renderer.frame_of_.push_back(static_cast<std::int32_t>(f));
        renderer.pixel_of_.push_back(pixel);
      }
    }
  }
  renderer.frames_ = std::move(frames);
  renderer.options_ = options;
  return renderer;
}

SurfelArrays ObservedRenderer::SurfelsAt(const float* positions_m) const {
  return {count(),           positions_m_.data(), positions_m,      pixel_m_.data(),
          neighbors_.data(), frame_of_.data(),    pixel_of_.data(), rgb_.data()};
}

StatusOr<DiscView> ObservedRenderer::ViewFrom(const Camera& camera) const {
  INTERLACER_RETURN_IF_ERROR(ValidateCamera(camera));
  if (camera.distortion_model != DistortionModel::kNone) {
    return Mismatch(reason::RENDER_TARGET_INVALID, "camera.distortion_model",
                    "a camera without lens", "one with");
  }
  DiscView view = DiscViewOf(camera, options_);
  for (std::size_t f = 0; f < frames_.size(); ++f) {
    if (!IsSameView(frames_[f].camera, camera)) continue;
    view.own_frame = static_cast<std::int32_t>(f);
    view.own_rgb = frames_[f].color.pixels.data();
    view.own_depth_m = frames_[f].depth.pixels_m.data();
    break;
  }
  return view;
}

StatusOr<ObservedPicture> ObservedRenderer::Render(const Camera& camera,
                                                   std::span<const float> positions_m) const {
  INTERLACER_ASSIGN_OR_RETURN(const DiscView view, ViewFrom(camera));
  if (positions_m.size() != positions_m_.size()) {
    return Mismatch(reason::SHAPE_MISMATCH, "positions_m",
                    std::to_string(positions_m_.size()) + " numbers, 3 a surfel",
                    std::to_string(positions_m.size()));
  }
  const SurfelArrays surfels = SurfelsAt(positions_m.data());
  return drawer_ ? drawer_->Draw(view, surfels) : DrawOnHost(view, surfels);
}

}  // namespace interlacer
