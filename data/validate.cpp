#include "data/validate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <system_error>

#include "common/camera.h"
#include "data/depth.h"
#include "data/manifest.h"
#include "data/scene_report.h"
#include "data/unproject.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr double kAlmostEmptyRatio = 0.01;
constexpr double kLowValidDepthRatio = 0.3;
constexpr double kLowWorkspaceRatio = 0.05;
/// A real sensor or renderer never gives one value for all of this many pixels.
constexpr std::int64_t kConstantMinPixels = 1000;
constexpr double kSpacingTolerance = 0.1;
/// Pairs of neighbouring cameras compared in an episode, spread over its views and steps.
constexpr int kMaxComparedPairs = 12;
/// A change of more than this part of the range in one step is a jump.
constexpr double kJumpRangeShare = 0.5;

LiftRegion RegionOf(const EpisodeManifest& manifest, int camera) {
  const EpisodeCamera& item = manifest.cameras[camera];
  return {manifest.workspace, item.near_m, item.far_m};
}

std::string Percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", 100 * ratio);
  return text;
}

bool IsConstant(const DepthImage16& depth) {
  if (static_cast<std::int64_t>(depth.pixels.size()) < kConstantMinPixels) return false;
  return depth.pixels[0] != 0 && std::all_of(depth.pixels.begin(), depth.pixels.end(),
                                             [&](auto value) { return value == depth.pixels[0]; });
}

/// Sums over the frames of one camera.
struct CameraSums {
  double valid_depth = 0, workspace = 0;
  int frames = 0;
  std::vector<double> medians_m;
};

class Validator {
 public:
  Validator(const EpisodeReader& episode, ValidationReport* report)
      : episode_(episode), manifest_(episode.manifest()), report_(report) {}

  void Run() {
    report_->episode_id = manifest_.episode_id;
    report_->step_count = manifest_.step_count;
    for (int camera = 0; camera < episode_.camera_count(); ++camera) CheckCamera(camera);
    CompareCameras();
    CheckTimes();
    CheckMotion();
    CheckFolder();
  }

 private:
  void AddFinding(const char* reason, std::string field, std::string message) {
    report_->findings.push_back({reason, std::move(message), std::move(field)});
  }

  /// Decodes every frame of a camera.
  void CheckCamera(int camera) {
    CameraSums sums;
    for (int step = 0; step < episode_.step_count(); ++step) {
      if (const auto color = episode_.ReadColor(step, camera); !color.ok()) {
        report_->errors.push_back(color.status());
      }
      const auto raw = episode_.ReadRawDepth(step, camera);
      if (!raw.ok()) {
        report_->errors.push_back(raw.status());
        continue;
      }
      CheckDepth(step, camera, *raw, &sums);
    }
    const EpisodeCamera& item = manifest_.cameras[camera];
    CameraCheck check{item.name, 0, 0, 0};
    if (sums.frames > 0) {
      check.valid_depth_ratio = sums.valid_depth / sums.frames;
      check.workspace_ratio = sums.workspace / sums.frames;
      std::sort(sums.medians_m.begin(), sums.medians_m.end());
      check.median_depth_m = sums.medians_m.empty() ? 0 : sums.medians_m[sums.medians_m.size() / 2];
      AddRatioFindings(check);
    }
    report_->cameras.push_back(std::move(check));
  }

  void CheckDepth(int step, int camera, const DepthImage16& raw, CameraSums* sums) {
    const std::string path = FramePath(manifest_.cameras[camera].depth_pattern, step);
    const DepthImage depth = DepthToMeters(raw);
    const auto classes =
        ClassifyPixels(episode_.CameraAt(step, camera), depth, RegionOf(manifest_, camera));
    const double pixels = static_cast<double>(classes.size());
    sums->valid_depth += ValidDepthRatio(depth);
    sums->workspace +=
        static_cast<double>(std::count(classes.begin(), classes.end(), PixelClass::kValid)) /
        pixels;
    if (const auto median = MedianDepthM(depth)) sums->medians_m.push_back(*median);
    ++sums->frames;
    ++report_->frame_count;
    if (const Status status = CheckPlausibleDepth(depth, path); !status.ok()) {
      AddFinding(reason::DEPTH_IMPLAUSIBLE, path, status.message());
    }
    if (IsConstant(raw)) AddFinding("DEPTH_CONSTANT", path, "every pixel has the same depth");
    if (ValidDepthRatio(depth) < kAlmostEmptyRatio) {
      AddFinding("DEPTH_ALMOST_EMPTY", path,
                 Percent(ValidDepthRatio(depth)) + " of the pixels have a depth");
    }
  }

  void AddRatioFindings(const CameraCheck& check) {
    const std::string field = "camera " + check.camera_name;
    if (check.valid_depth_ratio < kLowValidDepthRatio) {
      AddFinding("LOW_VALID_DEPTH", field,
                 Percent(check.valid_depth_ratio) + " of the pixels have a depth");
    }
    if (check.workspace_ratio < kLowWorkspaceRatio) {
      AddFinding("MOSTLY_OUTSIDE_WORKSPACE", field,
                 Percent(check.workspace_ratio) + " of the pixels are inside workspace and range");
    }
  }

  void CompareCameras() {
    const int pairs = episode_.camera_count() - 1;
    if (pairs < 1) return;
    const int step_stride = pairs >= kMaxComparedPairs
                                ? episode_.step_count()
                                : std::max(1, episode_.step_count() * pairs / kMaxComparedPairs);
    const int pair_stride = std::max(1, pairs / kMaxComparedPairs);
    std::vector<double> medians_m;
    for (int step = 0; step < episode_.step_count(); step += step_stride) {
      for (int camera = 0; camera < pairs; camera += pair_stride) {
        const auto a = episode_.ReadView(step, camera);
        const auto b = episode_.ReadView(step, camera + 1);
        if (!a.ok() || !b.ok()) continue;  // reported with its camera
        const auto distance = MeasureCrossCameraDistance(*a, *b, RegionOf(manifest_, camera));
        if (distance.median_m >= 0) medians_m.push_back(distance.median_m);
        ReportDistance(distance, a->camera_name + ", " + b->camera_name, step);
      }
    }
    if (medians_m.empty()) return;
    std::sort(medians_m.begin(), medians_m.end());
    report_->cross_camera_distance_m = medians_m[medians_m.size() / 2];
  }

  void ReportDistance(const CrossCameraDistance& distance, const std::string& cameras, int step) {
    const double limit_m = SceneReportOptions().suspect_distance_m;
    const bool is_static = manifest_.kind == EpisodeKind::kStaticViews;
    // Views of a static scene may look at different sides of it.
    const bool disagree = distance.views_disagree && !is_static;
    if (distance.median_m <= limit_m && !disagree) return;
    AddFinding("CALIBRATION_SUSPECT", "cameras " + cameras,
               disagree && distance.median_m < 0
                   ? "step " + std::to_string(step) + ": the cameras share no surface"
                   : "step " + std::to_string(step) + ": surfaces lie " +
                         std::to_string(distance.median_m) + " m apart where both cameras see");
  }

  void CheckTimes() {
    const double max_skew_s = SceneReportOptions().max_camera_skew_s;
    const bool is_static = manifest_.kind == EpisodeKind::kStaticViews;
    for (int step = 0; step < episode_.step_count(); ++step) {
      std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
      for (int camera = 0; camera < episode_.camera_count(); ++camera) {
        first = std::min(first, episode_.CaptureTimeNs(step, camera));
        last = std::max(last, episode_.CaptureTimeNs(step, camera));
      }
      const double skew_s = static_cast<double>(last - first) * 1e-9;
      if (!is_static && skew_s > 0.5 * max_skew_s) {
        AddFinding("CAMERA_SKEW_HIGH", "step " + std::to_string(step),
                   "capture times differ by " + std::to_string(skew_s) + " s");
      }
      if (step > 0) CheckSpacing(step);
    }
  }

  void CheckSpacing(int step) {
    for (int camera = 0; camera < episode_.camera_count(); ++camera) {
      const double spacing_s = static_cast<double>(episode_.CaptureTimeNs(step, camera) -
                                                   episode_.CaptureTimeNs(step - 1, camera)) *
                               1e-9;
      if (std::abs(spacing_s - manifest_.step_duration_s) <=
          kSpacingTolerance * manifest_.step_duration_s) {
        continue;
      }
      AddFinding("TIMESTAMP_IRREGULAR",
                 "step " + std::to_string(step) + ", camera " + manifest_.cameras[camera].name,
                 std::to_string(spacing_s) + " s after the step before, not " +
                     std::to_string(manifest_.step_duration_s) + " s");
    }
  }

  void CheckMotion() {
    if (manifest_.actions) CheckTable(*manifest_.actions, episode_.actions());
    if (manifest_.states) CheckTable(*manifest_.states, episode_.states());
  }

  void CheckTable(const MotionTable& motion, const NumberTable& table) {
    for (std::int64_t column = 0; column < table.column_count; ++column) {
      const TableColumn& rule = motion.columns[column];
      for (std::int64_t row = 0; row < table.row_count; ++row) {
        const double value = table.values[row * table.column_count + column];
        const std::string field = motion.file + " row " + std::to_string(row) + ", " + rule.name;
        if (value < rule.min_value || value > rule.max_value) {
          AddFinding(reason::ACTION_OUT_OF_RANGE, field,
                     std::to_string(value) + " is outside " + std::to_string(rule.min_value) +
                         " ... " + std::to_string(rule.max_value) + " " + rule.unit);
        }
        const double before =
            row == 0 ? value : table.values[(row - 1) * table.column_count + column];
        if (motion.kind == ActionKind::kJointPositions && rule.unit == "rad" &&
            std::abs(value - before) > kJumpRangeShare * (rule.max_value - rule.min_value)) {
          AddFinding("ACTION_JUMP", field,
                     "changes by " + std::to_string(value - before) + " rad in one step");
        }
      }
    }
  }

  /// Files that no hash covers, and listed files that no frame check has opened.
  void CheckFolder() {
    const std::vector<std::string> listed_paths = episode_.ListedFiles();
    const std::set<std::string> listed(listed_paths.begin(), listed_paths.end());
    for (const std::string& path : listed) {
      if (path.ends_with(".png")) continue;  // frames were read
      if (const auto bytes = episode_.ReadFile(path); !bytes.ok()) {
        report_->errors.push_back(bytes.status());
      }
    }
    std::error_code error;
    const fs::path root = episode_.directory();
    for (const auto& entry : fs::recursive_directory_iterator(root, error)) {
      if (!entry.is_regular_file(error)) continue;
      const std::string path = fs::relative(entry.path(), root, error).generic_string();
      if (path == kManifestFile || path == "files.sha256" || listed.count(path) > 0) continue;
      AddFinding("FILE_UNLISTED", path, "not listed in files.sha256");
    }
  }

  const EpisodeReader& episode_;
  const EpisodeManifest& manifest_;
  ValidationReport* report_;
};

}  // namespace

StatusOr<ValidationReport> ValidateEpisode(const std::string& episode_dir,
                                           const ValidateOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode,
                              EpisodeReader::Open(episode_dir, {options.verify_hashes}));
  ValidationReport report;
  Validator(episode, &report).Run();
  return report;
}

StatusOr<RgbImage> MakeOverlay(const EpisodeReader& episode, int step, int base_camera,
                               int overlay_camera) {
  for (int camera : {base_camera, overlay_camera}) {
    if (step < 0 || step >= episode.step_count() || camera < 0 ||
        camera >= episode.camera_count()) {
      return Mismatch(reason::STEP_INVALID, "step, camera", "a step and cameras of the episode",
                      std::to_string(step) + ", " + std::to_string(camera));
    }
  }
  INTERLACER_ASSIGN_OR_RETURN(const RgbdView base, episode.ReadView(step, base_camera));
  INTERLACER_ASSIGN_OR_RETURN(const RgbdView over, episode.ReadView(step, overlay_camera));
  const LiftedPoints points =
      UnprojectViews({&over, 1}, RegionOf(episode.manifest(), overlay_camera));
  const std::vector<std::uint8_t> colors = ColorsOf({&over, 1}, points.source_index);
  RgbImage picture = base.color;
  std::vector<float> nearest_m(picture.pixels.size() / 3, std::numeric_limits<float>::infinity());
  for (std::int64_t i = 0; i < points.count(); ++i) {
    const float* p = points.positions_m.data() + 3 * i;
    const ProjectedPixel pixel = Project(base.camera, {p[0], p[1], p[2]});
    const double u = std::round(pixel.u_px), v = std::round(pixel.v_px);
    if (!(pixel.depth_m > 0 && u >= 0 && u < picture.width_px && v >= 0 && v < picture.height_px)) {
      continue;
    }
    // A checkerboard of both pictures makes a displacement visible along every edge.
    constexpr int kTilePx = 16;
    const int column = static_cast<int>(u), row = static_cast<int>(v);
    if ((column / kTilePx + row / kTilePx) % 2 == 0) continue;
    const std::size_t at = static_cast<std::size_t>(row) * picture.width_px + column;
    if (pixel.depth_m >= nearest_m[at]) continue;
    nearest_m[at] = static_cast<float>(pixel.depth_m);
    std::copy_n(colors.begin() + 3 * i, 3, picture.pixels.begin() + 3 * at);
  }
  return picture;
}

}  // namespace interlacer
