#include "render/observed_renderer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "common/thread_pool.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kSurfelGrain = 4096;
/// Rows that one thread draws at once.
constexpr int kBandRows = 16;

/// A surfel in the target image.
struct Disc {
  float u_px = 0, v_px = 0, depth_m = 0;
  float radius_px = 0;  ///< 0: not drawn
  bool has_moved = false;
};

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

/// One band of rows of a picture: what is in front, then the mixture of what shares the front.
class Band {
 public:
  Band(const Camera& camera, int row_begin, int row_end)
      : width_(camera.width_px),
        row_begin_(row_begin),
        row_end_(row_end),
        front_m_(static_cast<std::size_t>(width_) * (row_end - row_begin), kInfinity) {}

  /// Calls visit(pixel of the band, share in (0,1]) for the band's pixels under a disc.
  template <typename Visit>
  void Cover(const Disc& disc, Visit visit) const {
    const float r = disc.radius_px;
    const int first_row = std::max(static_cast<int>(std::ceil(disc.v_px - r)), row_begin_);
    const int last_row = std::min(static_cast<int>(std::floor(disc.v_px + r)), row_end_ - 1);
    const int first = std::max(static_cast<int>(std::ceil(disc.u_px - r)), 0);
    const int last = std::min(static_cast<int>(std::floor(disc.u_px + r)), width_ - 1);
    for (int row = first_row; row <= last_row; ++row) {
      for (int column = first; column <= last; ++column) {
        const float du = static_cast<float>(column) - disc.u_px;
        const float dv = static_cast<float>(row) - disc.v_px;
        const float share = 1 - (du * du + dv * dv) / (r * r);
        if (share > 0) visit(static_cast<std::size_t>(row - row_begin_) * width_ + column, share);
      }
    }
  }

  std::size_t size() const { return front_m_.size(); }
  std::size_t first_pixel() const { return static_cast<std::size_t>(row_begin_) * width_; }
  float& front_m(std::size_t pixel) { return front_m_[pixel]; }

 private:
  const int width_, row_begin_, row_end_;
  std::vector<float> front_m_;
};

}  // namespace

StatusOr<ObservedRenderer> ObservedRenderer::Make(std::vector<ObservedFrame> frames,
                                                  const ObservedOptions& options) {
  ObservedRenderer renderer;
  for (std::size_t f = 0; f < frames.size(); ++f) {
    INTERLACER_RETURN_IF_ERROR(CheckFrame(frames[f], f));
    const Camera& camera = frames[f].camera;
    const double half_diagonal = std::sqrt(0.5);
    const double pixel_m = half_diagonal / std::sqrt(camera.fx_px * camera.fy_px);
    for (int row = 0; row < camera.height_px; ++row) {
      for (int column = 0; column < camera.width_px; ++column) {
        const int pixel = row * camera.width_px + column;
        const float depth_m = frames[f].depth.pixels_m[static_cast<std::size_t>(pixel)];
        if (!HasDepth(depth_m)) continue;
        for (const double x : Unproject(camera, column, row, depth_m)) {
          renderer.positions_m_.push_back(static_cast<float>(x));
        }
        renderer.radius_m_.push_back(static_cast<float>(depth_m * pixel_m));
        renderer.frame_of_.push_back(static_cast<std::int32_t>(f));
        renderer.pixel_of_.push_back(pixel);
      }
    }
  }
  renderer.frames_ = std::move(frames);
  renderer.options_ = options;
  return renderer;
}

StatusOr<ObservedPicture> ObservedRenderer::Render(const Camera& camera,
                                                   std::span<const float> positions_m) const {
  INTERLACER_RETURN_IF_ERROR(ValidateCamera(camera));
  if (camera.distortion_model != DistortionModel::kNone) {
    return Mismatch(reason::RENDER_TARGET_INVALID, "camera.distortion_model",
                    "a camera without lens", "one with");
  }
  if (positions_m.size() != positions_m_.size()) {
    return Mismatch(reason::SHAPE_MISMATCH, "positions_m",
                    std::to_string(positions_m_.size()) + " numbers, 3 a surfel",
                    std::to_string(positions_m.size()));
  }
  // The frame that this very camera recorded, if there is one.
  const auto own = std::find_if(frames_.begin(), frames_.end(), [&](const ObservedFrame& frame) {
    return IsSameView(frame.camera, camera);
  });
  const std::int32_t own_index =
      own == frames_.end() ? -1 : static_cast<std::int32_t>(own - frames_.begin());

  const std::size_t pixel_count = static_cast<std::size_t>(camera.width_px) * camera.height_px;
  /// Pixels of the own frame that keep their colour: unmoved ones and those without depth.
  std::vector<std::uint8_t> is_kept(pixel_count, own_index >= 0);
  std::vector<Disc> discs(static_cast<std::size_t>(count()));
  const Matrix4d m = ToMatrix(Inverse(camera.world_from_camera));
  const double focal_px = std::sqrt(camera.fx_px * camera.fy_px);
  ParallelFor(count(), kSurfelGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const float* p = positions_m.data() + 3 * i;
      const bool has_moved = std::memcmp(p, positions_m_.data() + 3 * i, 3 * sizeof(float)) != 0;
      if (frame_of_[i] == own_index) {
        if (!has_moved) continue;  // its pixel is kept instead
        is_kept[static_cast<std::size_t>(pixel_of_[i])] = 0;
      }
      const double x = m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3];
      const double y = m[4] * p[0] + m[5] * p[1] + m[6] * p[2] + m[7];
      const double z = m[8] * p[0] + m[9] * p[1] + m[10] * p[2] + m[11];
      if (!(z >= options_.near_m) || !std::isfinite(x) || !std::isfinite(y)) continue;
      const double u_px = camera.fx_px * x / z + camera.cx_px;
      const double v_px = camera.fy_px * y / z + camera.cy_px;
      const double margin_px = options_.max_radius_px + 1;
      if (!(u_px > -margin_px && u_px < camera.width_px + margin_px && v_px > -margin_px &&
            v_px < camera.height_px + margin_px)) {
        continue;
      }
      const double radius_px =
          std::clamp(radius_m_[i] * focal_px / z, options_.min_radius_px, options_.max_radius_px);
      discs[i] = {static_cast<float>(u_px), static_cast<float>(v_px), static_cast<float>(z),
                  static_cast<float>(radius_px), has_moved};
    }
  });

  ObservedPicture picture{
      {camera.width_px, camera.height_px, 3, std::vector<float>(3 * pixel_count, 0)},
      {camera.width_px, camera.height_px, std::vector<float>(pixel_count, kNaN)},
      std::vector<float>(pixel_count, 0)};
  const auto band_depth = static_cast<float>(options_.depth_band);
  const auto draw = [&](int row_begin, int row_end) {
    Band band(camera, row_begin, row_end);
    const std::size_t first = band.first_pixel();
    // Unmoved surfels of other frames draw only where the own frame has nothing: two cameras'
    // depths of one surface differ by their noise.
    const auto is_drawn = [&](const Disc& disc, std::size_t pixel) {
      return disc.has_moved || !is_kept[first + pixel];
    };
    const auto visit_discs = [&](const auto& visit) {
      for (std::size_t i = 0; i < discs.size(); ++i) {
        const Disc& disc = discs[i];
        if (disc.radius_px == 0 || disc.v_px + disc.radius_px < static_cast<float>(row_begin) ||
            disc.v_px - disc.radius_px > static_cast<float>(row_end - 1)) {
          continue;
        }
        band.Cover(disc, [&](std::size_t pixel, float share) {
          if (is_drawn(disc, pixel)) visit(i, disc, pixel, share);
        });
      }
    };
    visit_discs([&](std::size_t, const Disc& disc, std::size_t pixel, float) {
      band.front_m(pixel) = std::min(band.front_m(pixel), disc.depth_m);
    });
    // A kept pixel that nothing comes in front of has no front.
    for (std::size_t pixel = 0; own_index >= 0 && pixel < band.size(); ++pixel) {
      const float own_m = own->depth.pixels_m[first + pixel];
      if (is_kept[first + pixel] && HasDepth(own_m) &&
          !(band.front_m(pixel) < own_m * (1 - band_depth))) {
        band.front_m(pixel) = -kInfinity;
      }
    }
    std::vector<float> depth_sum(band.size(), 0);
    visit_discs([&](std::size_t i, const Disc& disc, std::size_t pixel, float share) {
      if (disc.depth_m > band.front_m(pixel) * (1 + band_depth)) return;
      const std::uint8_t* color =
          frames_[static_cast<std::size_t>(frame_of_[i])].color.pixels.data() +
          3 * static_cast<std::size_t>(pixel_of_[i]);
      for (std::size_t c = 0; c < 3; ++c) {
        picture.color.pixels[3 * (first + pixel) + c] += share * static_cast<float>(color[c]) / 255;
      }
      picture.coverage[first + pixel] += share;
      depth_sum[pixel] += share * disc.depth_m;
    });
    for (std::size_t pixel = 0; pixel < band.size(); ++pixel) {
      const std::size_t at = first + pixel;
      float& coverage = picture.coverage[at];
      float* color = picture.color.pixels.data() + 3 * at;
      if (coverage > 0) {
        for (std::size_t c = 0; c < 3; ++c) color[c] /= coverage;
        picture.depth.pixels_m[at] = depth_sum[pixel] / coverage;
        coverage = std::min(coverage, 1.f);
      }
      if (!is_kept[at] || coverage == 1) continue;
      for (std::size_t c = 0; c < 3; ++c) {
        const float recorded = static_cast<float>(own->color.pixels[3 * at + c]) / 255;
        color[c] = coverage == 0 ? recorded : coverage * color[c] + (1 - coverage) * recorded;
      }
      const float own_m = own->depth.pixels_m[at];
      if (coverage < 0.5f) picture.depth.pixels_m[at] = HasDepth(own_m) ? own_m : kNaN;
      coverage = 1;
    }
  };
  const std::int64_t bands = (camera.height_px + kBandRows - 1) / kBandRows;
  ParallelFor(bands, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const int row = static_cast<int>(b) * kBandRows;
      draw(row, std::min(row + kBandRows, camera.height_px));
    }
  });
  return picture;
}

}  // namespace interlacer
