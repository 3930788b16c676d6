#pragma once

/// The slow, obvious twin of render/observed_renderer.h: float64, every pixel over all surfels.
/// Thread-safe after construction. The definition is that of render/kernels/observed_disc.h.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/camera.h"
#include "render/observed_renderer.h"

namespace interlacer::testing {

struct TwinPixel {
  std::array<double, 3> rgb{0, 0, 0};
  double depth_m = std::numeric_limits<double>::quiet_NaN();
  double coverage = 0;
};

class ObservedTwin {
 public:
  /// `own` is the frame of that very camera, or -1.
  ObservedTwin(const std::vector<ObservedFrame>& frames, const Camera& camera,
               std::span<const float> seen_m, std::span<const float> positions_m, int own)
      : frames_(frames), camera_(camera), seen_m_(seen_m), now_m_(positions_m), own_(own) {
    for (std::size_t f = 0; f < frames.size(); ++f) {
      surfel_at_.emplace_back(frames[f].depth.pixels_m.size(), -1);
      for (std::size_t pixel = 0; pixel < surfel_at_[f].size(); ++pixel) {
        if (!(frames[f].depth.pixels_m[pixel] > 0)) continue;
        surfel_at_[f][pixel] = static_cast<int>(ellipses_.size());
        ellipses_.push_back({static_cast<int>(f), static_cast<int>(pixel)});
      }
    }
    for (std::size_t i = 0; i < ellipses_.size(); ++i) Place(static_cast<int>(i));
  }

  TwinPixel At(int pixel) const {
    const bool is_kept = own_ >= 0 && KeepsColor(pixel);
    struct Hit {
      double depth_m, share;
      const std::uint8_t* rgb;
    };
    std::vector<Hit> hits;
    double front_m = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < ellipses_.size(); ++i) {
      const Ellipse& e = ellipses_[i];
      const bool has_moved = HasMoved(static_cast<int>(i));
      if (!e.is_drawn || (!has_moved && (e.frame == own_ || is_kept))) continue;
      const double du = pixel % camera_.width_px - e.u_px, dv = pixel / camera_.width_px - e.v_px;
      const double determinant = e.vuu * e.vvv - e.vuv * e.vuv;
      const double share =
          1 - (e.vvv * du * du - 2 * e.vuv * du * dv + e.vuu * dv * dv) / determinant;
      if (share <= 0) continue;
      const double depth_m = e.depth_m + e.depth_m_per_u * du + e.depth_m_per_v * dv;
      hits.push_back({depth_m, share, &frames_[e.frame].color.pixels[3 * e.pixel]});
      if (share >= 0.3) front_m = std::min(front_m, depth_m);
    }
    const double own_m = is_kept ? frames_[own_].depth.pixels_m[pixel] : 0;
    double last_m = front_m * (1 + options_.depth_band);
    if (own_m > 0) last_m = std::min(last_m, own_m * (1 - options_.depth_band));
    TwinPixel out;
    double sum = 0, depth_sum = 0, surface_sum = 0;
    for (const Hit& hit : hits) {
      if (hit.depth_m > last_m) continue;
      for (int c = 0; c < 3; ++c) out.rgb[c] += hit.share * hit.rgb[c] / 255;
      sum += hit.share;
      if (hit.depth_m < front_m * (1 - options_.depth_band)) continue;
      surface_sum += hit.share;
      depth_sum += hit.share * hit.depth_m;
    }
    for (double& c : out.rgb) c = sum > 0 ? c / sum : 0;
    out.coverage = std::clamp(2 * sum - 0.9, 0.0, 1.0);
    if (surface_sum > 0) out.depth_m = depth_sum / surface_sum;
    if (!is_kept || out.coverage == 1) return out;
    for (int c = 0; c < 3; ++c) {
      out.rgb[c] = out.coverage * out.rgb[c] +
                   (1 - out.coverage) * frames_[own_].color.pixels[3 * pixel + c] / 255;
    }
    if (out.coverage < 0.5) out.depth_m = own_m > 0 ? own_m : std::nan("");
    out.coverage = 1;
    return out;
  }

 private:
  struct Ellipse {
    int frame = 0, pixel = 0;
    double u_px = 0, v_px = 0, depth_m = 0;
    double vuu = 0, vuv = 0, vvv = 0;
    double depth_m_per_u = 0, depth_m_per_v = 0;
    bool is_drawn = false;
  };
  using Step = std::array<double, 3>;  ///< two in pixels, metres of depth

  static Vec3d PointOf(std::span<const float> points_m, int i) {
    return {points_m[3 * i], points_m[3 * i + 1], points_m[3 * i + 2]};
  }
  static double Distance(const Vec3d& a, const Vec3d& b) {
    return std::sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                     (a[2] - b[2]) * (a[2] - b[2]));
  }
  static double Length(const Step& step) { return std::hypot(step[0], step[1]); }

  bool HasMoved(int i) const {
    return Distance(PointOf(seen_m_, i), PointOf(now_m_, i)) != 0;  // NaN has moved
  }

  /// Without depth a pixel keeps its colour unless something within three pixels has moved.
  bool KeepsColor(int pixel) const {
    const int surfel = surfel_at_[own_][pixel], width = camera_.width_px;
    if (surfel >= 0) return !HasMoved(surfel);
    for (int other = 0; other < width * camera_.height_px; ++other) {
      if (std::abs(other % width - pixel % width) > 3) continue;
      if (std::abs(other / width - pixel / width) > 3) continue;
      if (surfel_at_[own_][other] >= 0 && HasMoved(surfel_at_[own_][other])) return false;
    }
    return true;
  }

  /// Walks at most two pixels over a surface that goes on; the surfel there, and the way.
  std::array<int, 2> Walk(const Ellipse& e, int right, int down) const {
    const Camera& camera = frames_[e.frame].camera;
    const std::vector<float>& depth_m = frames_[e.frame].depth.pixels_m;
    int column = e.pixel % camera.width_px, row = e.pixel / camera.width_px, way = 0;
    int at = e.pixel;
    for (; way < 2; ++way) {
      column += right, row += down;
      if (column < 0 || row < 0 || column >= camera.width_px || row >= camera.height_px) break;
      const int next = row * camera.width_px + column;
      const double most_m = 8 * depth_m[at] / std::sqrt(camera.fx_px * camera.fy_px);
      if (!(std::abs(static_cast<double>(depth_m[next]) - depth_m[at]) <= most_m)) break;
      at = next;
    }
    return {surfel_at_[e.frame][at], way};
  }

  /// The picture of one pixel's step; zero where the surface ends, tore or cannot be seen.
  Step StepOf(const Ellipse& e, bool has_moved, int right, int down) const {
    const auto [from, back] = Walk(e, -right, -down);
    const auto [to, ahead] = Walk(e, right, down);
    // What does not move keeps its shape, whatever its neighbours do.
    const auto& points_m = has_moved ? now_m_ : seen_m_;
    const Vec3d a = PointOf(points_m, from), b = PointOf(points_m, to);
    const ProjectedPixel pa = Project(camera_, a), pb = Project(camera_, b);
    if (back + ahead == 0 || !(pa.depth_m >= options_.near_m && pb.depth_m >= options_.near_m) ||
        !(Distance(a, b) <= 2 * Distance(PointOf(seen_m_, from), PointOf(seen_m_, to)))) {
      return {0, 0, 0};
    }
    return {(pb.u_px - pa.u_px) / (back + ahead), (pb.v_px - pa.v_px) / (back + ahead),
            (pb.depth_m - pa.depth_m) / (back + ahead)};
  }

  void Place(int i) {
    Ellipse& e = ellipses_[i];
    const ProjectedPixel at = Project(camera_, PointOf(now_m_, i));
    if (!(at.depth_m >= options_.near_m && std::isfinite(at.u_px) && std::isfinite(at.v_px))) {
      return;
    }
    Step a = StepOf(e, HasMoved(i), 1, 0), b = StepOf(e, HasMoved(i), 0, 1);
    const double turn = a[0] * b[1] - a[1] * b[0];
    if (turn < -0.25 * Length(a) * Length(b)) return;  // seen from behind
    const Camera& seen = frames_[e.frame].camera;
    const double facing_px = frames_[e.frame].depth.pixels_m[e.pixel] *
                             std::sqrt(camera_.fx_px * camera_.fy_px) /
                             std::sqrt(seen.fx_px * seen.fy_px) / at.depth_m;
    if (Length(a) == 0 && Length(b) == 0) a = {facing_px, 0, 0}, b = {0, facing_px, 0};
    if (Length(a) == 0) a = {b[1] * facing_px / Length(b), -b[0] * facing_px / Length(b), 0};
    if (Length(b) == 0) b = {-a[1] * facing_px / Length(a), a[0] * facing_px / Length(a), 0};
    const Step plane = PlaneOf(a, b);
    for (Step* step : {&a, &b}) {
      const double scale = std::min(1.0, options_.max_step_px / Length(*step));
      for (double& x : *step) x *= scale;
    }
    e.vuu = 0.8 * (a[0] * a[0] + b[0] * b[0]) + 0.02;
    e.vuv = 0.8 * (a[0] * a[1] + b[0] * b[1]);
    e.vvv = 0.8 * (a[1] * a[1] + b[1] * b[1]) + 0.02;
    e.u_px = at.u_px, e.v_px = at.v_px, e.depth_m = at.depth_m;
    const double reach_m =
        std::abs(plane[0]) * std::sqrt(e.vuu) + std::abs(plane[1]) * std::sqrt(e.vvv);
    const double scale = reach_m > 0 ? std::min(1.0, 0.1 * at.depth_m / reach_m) : 0;
    e.depth_m_per_u = scale * plane[0], e.depth_m_per_v = scale * plane[1];
    e.is_drawn = true;
  }

  /// Metres of depth a pixel to the right and a pixel down, on the plane of two steps.
  static Step PlaneOf(const Step& a, const Step& b) {
    const double turn = a[0] * b[1] - a[1] * b[0];
    if (std::abs(turn) <= 0.25 * Length(a) * Length(b)) return {0, 0, 0};
    return {(a[2] * b[1] - b[2] * a[1]) / turn, (b[2] * a[0] - a[2] * b[0]) / turn, 0};
  }

  const std::vector<ObservedFrame>& frames_;
  const Camera camera_;
  const std::span<const float> seen_m_, now_m_;
  const int own_;
  const ObservedOptions options_;
  std::vector<std::vector<int>> surfel_at_;
  std::vector<Ellipse> ellipses_;
};

}  // namespace interlacer::testing
