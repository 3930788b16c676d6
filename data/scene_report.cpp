#include "data/scene_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/camera.h"
#include "common/camera_skew.h"
#include "data/depth.h"

namespace interlacer {
namespace {

constexpr std::int64_t kMinSharedPoints = 500;
/// About this many points of the second view are looked up; more hardly change a median.
constexpr std::int64_t kMaxProbes = 20000;
constexpr double kHiddenBehindM = 0.05;
constexpr int kWindowPx = 3;
/// Below this share of projected points the views agree nowhere.
constexpr double kMinVisibleShare = 0.1;

std::string Rounded(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

/// World points of a view by pixel, NaN where the pixel is not valid.
std::vector<Vec3f> PointsByPixel(const RgbdView& view, const LiftRegion& region) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Vec3f> points(view.depth.pixels_m.size(), Vec3f{kNan, kNan, kNan});
  const LiftedPoints lifted = UnprojectViews({&view, 1}, region);
  for (std::int64_t i = 0; i < lifted.count(); ++i) {
    std::copy_n(lifted.positions_m.begin() + 3 * i, 3, points[lifted.source_index[i]].begin());
  }
  return points;
}

double Distance(const Vec3f& a, const Vec3f& b) {
  return std::sqrt(static_cast<double>((a[0] - b[0]) * (a[0] - b[0]) +
                                       (a[1] - b[1]) * (a[1] - b[1]) +
                                       (a[2] - b[2]) * (a[2] - b[2])));
}

/// Nearest of the points in a window around the pixel; infinite if there is none.
double NearestInWindow(const std::vector<Vec3f>& points, const DepthImage& depth, int u, int v,
                       const Vec3f& point) {
  double nearest_m = std::numeric_limits<double>::infinity();
  for (int y = std::max(0, v - kWindowPx); y <= std::min(depth.height_px - 1, v + kWindowPx); ++y) {
    for (int x = std::max(0, u - kWindowPx); x <= std::min(depth.width_px - 1, u + kWindowPx);
         ++x) {
      const double d = Distance(points[static_cast<std::size_t>(y) * depth.width_px + x], point);
      if (d < nearest_m) nearest_m = d;  // false for NaN
    }
  }
  return nearest_m;
}

CameraReport ReportCamera(const RgbdView& view, const LiftRegion& region,
                          std::int64_t* valid_count) {
  const std::vector<PixelClass> classes = ClassifyPixels(view.camera, view.depth, region);
  const auto valid = std::count(classes.begin(), classes.end(), PixelClass::kValid);
  *valid_count += valid;
  CameraReport report;
  report.camera_name = view.camera_name;
  report.valid_depth_ratio = ValidDepthRatio(view.depth);
  report.workspace_ratio =
      classes.empty() ? 0 : static_cast<double>(valid) / static_cast<double>(classes.size());
  report.median_depth_m = MedianDepthM(view.depth).value_or(0);
  return report;
}

void AddCameraFindings(const CameraReport& camera, std::size_t index, SceneReport* report) {
  const std::string field = "views[" + std::to_string(index) + "].depth";
  if (camera.valid_depth_ratio < kLowValidDepthRatio) {
    report->findings.push_back({"LOW_VALID_DEPTH",
                                "camera " + camera.camera_name + " has a depth for " +
                                    Rounded(100 * camera.valid_depth_ratio, 1) +
                                    " % of its pixels; 30 % or more is usual",
                                field});
  }
  if (camera.workspace_ratio < kLowWorkspaceRatio) {
    report->findings.push_back({"MOSTLY_OUTSIDE_WORKSPACE",
                                "camera " + camera.camera_name + " has " +
                                    Rounded(100 * camera.workspace_ratio, 1) +
                                    " % of its pixels inside workspace and range",
                                field});
  }
}

void AddCrossCameraFindings(const CrossCameraDistance& distance, const SceneReportOptions& options,
                            SceneReport* report) {
  if (distance.median_m > options.suspect_distance_m) {
    report->findings.push_back({"CALIBRATION_SUSPECT",
                                "the cameras' surfaces lie " + Rounded(distance.median_m, 3) +
                                    " m apart where both see; up to " +
                                    Rounded(options.suspect_distance_m, 3) + " m is usual",
                                "views[1].calibration"});
  } else if (distance.median_m < 0 && distance.views_disagree) {
    report->findings.push_back({"CALIBRATION_SUSPECT",
                                "the cameras share " + std::to_string(distance.shared_point_count) +
                                    " points, too few to compare them",
                                "views[1].calibration"});
  }
}

double SkewS(std::span<const RgbdView> views) {
  if (views.empty()) return 0;
  std::int64_t first = views[0].capture_time_ns, last = first;
  for (const RgbdView& view : views) {
    first = std::min(first, view.capture_time_ns);
    last = std::max(last, view.capture_time_ns);
  }
  return static_cast<double>(last - first) * 1e-9;
}

}  // namespace

CrossCameraDistance MeasureCrossCameraDistance(const RgbdView& a, const RgbdView& b,
                                               const LiftRegion& region) {
  const std::vector<Vec3f> points_a = PointsByPixel(a, region);
  const LiftedPoints points_b = UnprojectViews({&b, 1}, region);
  const bool a_has_points = std::any_of(points_a.begin(), points_a.end(),
                                        [](const Vec3f& p) { return std::isfinite(p[0]); });
  const std::int64_t stride = std::max<std::int64_t>(1, points_b.count() / kMaxProbes);
  std::vector<double> distances_m;
  for (std::int64_t i = 0; i < points_b.count(); i += stride) {
    const float* p = points_b.positions_m.data() + 3 * i;
    const ProjectedPixel pixel = Project(a.camera, {p[0], p[1], p[2]});
    if (!(pixel.depth_m > 0)) continue;
    const double u = std::round(pixel.u_px), v = std::round(pixel.v_px);
    if (!(u >= 0 && u < a.depth.width_px && v >= 0 && v < a.depth.height_px)) continue;
    const int column = static_cast<int>(u), row = static_cast<int>(v);
    const float surface_m =
        a.depth.pixels_m[static_cast<std::size_t>(row) * a.depth.width_px + column];
    // A point behind the surface is hidden from this camera, which cannot measure it.
    if (!(surface_m > 0) || pixel.depth_m > surface_m + kHiddenBehindM) continue;
    const double nearest_m = NearestInWindow(points_a, a.depth, column, row, {p[0], p[1], p[2]});
    if (std::isfinite(nearest_m)) distances_m.push_back(nearest_m);
  }
  CrossCameraDistance result;
  // Only every stride-th point was looked up.
  result.shared_point_count = static_cast<std::int64_t>(distances_m.size()) * stride;
  const double visible_share = static_cast<double>(result.shared_point_count) /
                               static_cast<double>(std::max<std::int64_t>(1, points_b.count()));
  result.views_disagree =
      a_has_points && points_b.count() >= kMinSharedPoints && visible_share < kMinVisibleShare;
  if (result.shared_point_count < kMinSharedPoints) return result;
  const auto middle = distances_m.begin() + static_cast<std::ptrdiff_t>(distances_m.size() / 2);
  std::nth_element(distances_m.begin(), middle, distances_m.end());
  result.median_m = *middle;
  return result;
}

SceneReport ReportScene(std::span<const RgbdView> views, const LiftRegion& region,
                        const SceneReportOptions& options) {
  SceneReport report;
  for (std::size_t i = 0; i < views.size(); ++i) {
    report.cameras.push_back(ReportCamera(views[i], region, &report.candidate_point_count));
    AddCameraFindings(report.cameras.back(), i, &report);
  }
  if (views.size() >= 2) {
    const CrossCameraDistance distance = MeasureCrossCameraDistance(views[0], views[1], region);
    report.cross_camera_distance_m = distance.median_m;
    AddCrossCameraFindings(distance, options, &report);
  }
  report.camera_skew_s = SkewS(views);
  if (auto skew = FindCameraSkew(report.camera_skew_s, options.max_camera_skew_s, "views")) {
    report.findings.push_back(*std::move(skew));
  }
  return report;
}

}  // namespace interlacer
