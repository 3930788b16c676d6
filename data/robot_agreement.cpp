#include "data/robot_agreement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "common/camera.h"
#include "common/number_text.h"
#include "common/vectors.h"
#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"

namespace interlacer {
namespace {

/// Half width of what one surface point hides of the robot behind it, and how far behind is hidden.
constexpr double kDiscM = 0.012;
constexpr int kMaxDiscPx = 12;
constexpr double kHiddenBehindOwnM = 0.02;
/// Cosine between normal and line of sight: at a slant, depth changes much within a pixel.
constexpr double kMinFacing = 0.4;
/// What is measured this much nearer than the robot hides it; this much farther, there is no robot.
constexpr double kGateM = 0.05;
constexpr int kMinPoints = 25;
constexpr double kThroughShare = 0.5;
/// Tukey's constant from step to step of the fit.
constexpr std::array<double, 5> kRobustWidthsM = {0.05, 0.04, 0.03, 0.02, 0.015};
/// Share of the weights that is added to the normal equations: along a cylinder nothing is
/// measured.
constexpr double kDamping = 0.02;
/// A shift counts if it leaves less than this share of the distances.
constexpr double kExplainedShare = 0.6;
/// A link's shift counts if most of its points have moved by this share of it: along its axis a
/// link slides with hardly a change of distances, and noise shifts it there.
constexpr double kSeenShare = 0.34;

Vec3d Plus(const Vec3d& a, const Vec3d& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }

/// A point of the robot that a camera should see.
struct SeenPoint {
  Vec3d position_m;
  Vec3d normal;
  std::int64_t link;
};

struct Pixel {
  int column;
  int row;
  double depth_m;
};

/// The pixel that shows a point; false outside the image.
bool PixelOf(const Camera& camera, const Vec3d& point_m, Pixel* pixel) {
  const ProjectedPixel projected = Project(camera, point_m);
  const double u = std::round(projected.u_px), v = std::round(projected.v_px);
  if (!(projected.depth_m > 0 && u >= 0 && v >= 0 && u < camera.width_px && v < camera.height_px)) {
    return false;
  }
  *pixel = {static_cast<int>(u), static_cast<int>(v), projected.depth_m};
  return true;
}

/// Depth of the robot alone, its surface points drawn as squares.
std::vector<float> OwnDepth(const Camera& camera, const PosedSurface& surface) {
  std::vector<float> depth_m(static_cast<std::size_t>(camera.width_px) * camera.height_px,
                             std::numeric_limits<float>::infinity());
  for (const Vec3d& point_m : surface.positions_m) {
    Pixel center;
    if (!PixelOf(camera, point_m, &center)) continue;
    const int half_px =
        std::min(kMaxDiscPx, static_cast<int>(camera.fx_px * kDiscM / center.depth_m));
    for (int row = std::max(0, center.row - half_px);
         row <= std::min(camera.height_px - 1, center.row + half_px); ++row) {
      for (int column = std::max(0, center.column - half_px);
           column <= std::min(camera.width_px - 1, center.column + half_px); ++column) {
        float& nearest_m = depth_m[static_cast<std::size_t>(row) * camera.width_px + column];
        nearest_m = std::min(nearest_m, static_cast<float>(center.depth_m));
      }
    }
  }
  return depth_m;
}

std::vector<SeenPoint> PointsToSee(const Camera& camera, const Robot& robot,
                                   const PosedSurface& surface) {
  const std::vector<float> own_m = OwnDepth(camera, surface);
  std::vector<SeenPoint> seen;
  for (std::size_t i = 0; i < surface.positions_m.size(); ++i) {
    const Vec3d& point_m = surface.positions_m[i];
    const Vec3d sight = Minus(camera.world_from_camera.translation_m, point_m);
    if (Dot(sight, surface.normals[i]) < kMinFacing * Length(sight)) continue;
    Pixel pixel;
    if (!PixelOf(camera, point_m, &pixel)) continue;
    const float nearest_m =
        own_m[static_cast<std::size_t>(pixel.row) * camera.width_px + pixel.column];
    if (pixel.depth_m > nearest_m + kHiddenBehindOwnM) continue;
    seen.push_back({point_m, surface.normals[i], robot.surface.links[i]});
  }
  return seen;
}

/// What is measured at points that are shifted by `shift_m`.
struct Measured {
  std::vector<double> distances_m;  ///< along the normal
  std::vector<Vec3d> normals;
  int through_count = 0;  ///< points with nothing near behind them
};

Measured Measure(const RgbdView& view, std::span<const SeenPoint> points, const Vec3d& shift_m) {
  Measured measured;
  for (const SeenPoint& point : points) {
    const Vec3d position_m = Plus(point.position_m, shift_m);
    Pixel pixel;
    if (!PixelOf(view.camera, position_m, &pixel)) continue;
    const float depth_m =
        view.depth
            .pixels_m[static_cast<std::size_t>(pixel.row) * view.camera.width_px + pixel.column];
    if (!(depth_m > 0) || depth_m < pixel.depth_m - kGateM) continue;
    if (depth_m > pixel.depth_m + kGateM) {
      ++measured.through_count;
      continue;
    }
    const Vec3d there_m = Unproject(view.camera, pixel.column, pixel.row, depth_m);
    measured.distances_m.push_back(Dot(Minus(there_m, position_m), point.normal));
    measured.normals.push_back(point.normal);
  }
  return measured;
}

double MedianSize(const std::vector<double>& values) {
  std::vector<double> sizes;
  for (const double value : values) sizes.push_back(std::abs(value));
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

/// x of the symmetric 3x3 system A x = b by Cramer's rule.
Vec3d Solve(const std::array<Vec3d, 3>& a, const Vec3d& b) {
  const auto determinant = [](const std::array<Vec3d, 3>& m) {
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  };
  const double whole = determinant(a);
  Vec3d x{};
  for (std::size_t column = 0; column < 3; ++column) {
    std::array<Vec3d, 3> replaced = a;
    for (std::size_t row = 0; row < 3; ++row) replaced[row][column] = b[row];
    x[column] = determinant(replaced) / whole;
  }
  return x;
}

/// The shift t with normal . t = distance, least squares under Tukey's weights.
Vec3d ShiftStep(const Measured& measured, double width_m) {
  std::array<Vec3d, 3> a{};
  Vec3d b{};
  double weight_sum = 0;
  for (std::size_t i = 0; i < measured.distances_m.size(); ++i) {
    const double share = measured.distances_m[i] / width_m;
    if (std::abs(share) >= 1) continue;
    const double weight = (1 - share * share) * (1 - share * share);
    const Vec3d& n = measured.normals[i];
    weight_sum += weight;
    for (std::size_t row = 0; row < 3; ++row) {
      b[row] += weight * n[row] * measured.distances_m[i];
      for (std::size_t column = 0; column < 3; ++column) {
        a[row][column] += weight * n[row] * n[column];
      }
    }
  }
  if (!(weight_sum > 0)) return {0, 0, 0};
  for (std::size_t row = 0; row < 3; ++row) a[row][row] += kDamping * weight_sum;
  return Solve(a, b);
}

struct Disagreement {
  double distance_m = 0;  ///< 0: none
  bool looks_through = false;
};

/// `seen_share` of a shift is the least median of the distances that shows it.
Disagreement Compare(const RgbdView& view, std::span<const SeenPoint> points, double seen_share) {
  const Measured before = Measure(view, points, {0, 0, 0});
  const auto near_count = static_cast<int>(before.distances_m.size());
  if (near_count + before.through_count < kMinPoints) return {};
  if (before.through_count > kThroughShare * (near_count + before.through_count)) {
    return {kGateM, true};
  }
  if (near_count < kMinPoints) return {};
  Vec3d shift_m{};
  for (const double width_m : kRobustWidthsM) {
    shift_m = Plus(shift_m, ShiftStep(Measure(view, points, shift_m), width_m));
  }
  const Measured after = Measure(view, points, shift_m);
  const double distance_m = Length(shift_m);
  const double median_m = MedianSize(before.distances_m);
  const bool is_explained = static_cast<int>(after.distances_m.size()) >= kMinPoints &&
                            MedianSize(after.distances_m) < kExplainedShare * median_m &&
                            median_m > seen_share * distance_m;
  return {distance_m > kMaxRobotShiftM && is_explained ? distance_m : 0, false};
}

std::string Centimetres(double distance_m) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f cm", 100 * distance_m);
  return text;
}

/// The link that is farthest from where it should be, with the distance.
struct LinkDisagreement {
  std::int64_t link = -1;
  Disagreement worst;
};

/// Fingers and grippers are left out: what they hold lies so near before them that it would be
/// taken for them.
LinkDisagreement CompareLinks(const RgbdView& view, const Robot& robot,
                              const std::vector<SeenPoint>& points) {
  LinkDisagreement found;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin;
    while (end < points.size() && points[end].link == points[begin].link) ++end;
    const std::int64_t link = points[begin].link;
    const std::span<const SeenPoint> of_link(points.data() + begin, end - begin);
    begin = end;
    if (robot.links[static_cast<std::size_t>(link)].part != LinkPart::kBody) continue;
    const Disagreement disagreement = Compare(view, of_link, kSeenShare);
    if (disagreement.distance_m > found.worst.distance_m) found = {link, disagreement};
  }
  return found;
}

Status CheckViewSizes(std::span<const RgbdView> views) {
  for (std::size_t v = 0; v < views.size(); ++v) {
    const Camera& camera = views[v].camera;
    const DepthImage& depth = views[v].depth;
    if (depth.width_px == camera.width_px && depth.height_px == camera.height_px) continue;
    return Mismatch(reason::IMAGE_SIZE_MISMATCH, "views[" + std::to_string(v) + "].depth",
                    SizeText(camera.width_px, camera.height_px),
                    SizeText(depth.width_px, depth.height_px));
  }
  return Status::Ok();
}

constexpr char kReason[] = "ROBOT_NOT_WHERE_JOINTS_SAY";

}  // namespace

StatusOr<std::vector<Finding>> CheckRobotAgreement(std::span<const RgbdView> views,
                                                   const Robot& robot,
                                                   std::span<const double> joint_values) {
  INTERLACER_RETURN_IF_ERROR(CheckViewSizes(views));
  INTERLACER_RETURN_IF_ERROR(CheckJointValues(robot, joint_values, "joint_values"));
  const PosedSurface surface = PoseSurface(robot, LinkPoses(robot, joint_values));
  std::vector<Finding> findings;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const RgbdView& view = views[v];
    const std::vector<SeenPoint> points = PointsToSee(view.camera, robot, surface);
    const Disagreement whole = Compare(view, points, 0);
    if (whole.distance_m > 0) {
      const std::string distance =
          (whole.looks_through ? "more than " : "") + Centimetres(whole.distance_m);
      findings.push_back({kReason,
                          "camera " + view.camera_name + " sees the robot " + distance +
                              " from where its joints put it: check the calibration of the camera "
                              "and the pose of the robot's base",
                          "views[" + std::to_string(v) + "].calibration"});
      continue;
    }
    const LinkDisagreement link = CompareLinks(view, robot, points);
    if (link.link < 0) continue;
    const std::string distance =
        (link.worst.looks_through ? "more than " : "") + Centimetres(link.worst.distance_m);
    findings.push_back(
        {kReason,
         "camera " + view.camera_name + " sees link '" +
             robot.links[static_cast<std::size_t>(link.link)].name + "' " + distance +
             " from where the joints put it: check the offsets of the joints before it",
         "joint_values"});
  }
  return findings;
}

}  // namespace interlacer
