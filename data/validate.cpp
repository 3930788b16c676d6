#include "data/validate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <span>
#include <system_error>

#include "common/joint_limits.h"
#include "common/thread_pool.h"
#include "data/depth.h"
#include "data/episode_joints.h"
#include "data/frame_facts.h"
#include "data/manifest.h"
#include "data/robot_agreement.h"
#include "data/scene_report.h"
#include "data/simulation_truth.h"
#include "data/system_files.h"
#include "data/unproject.h"
#include "data/view_overlap.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

constexpr double kAlmostEmptyRatio = 0.01;
constexpr double kSpacingTolerance = 0.1;
/// Pairs of neighbouring cameras compared in an episode, spread over its views and steps.
constexpr int kMaxComparedPairs = 12;
/// Findings of one kind that are listed one by one.
constexpr int kMaxFindingsPerReason = 10;
/// Steps in which a robot is compared with the pictures, spread over the episode.
constexpr int kMaxRobotSteps = 12;
/// Joints that move less stand still.
constexpr double kStillRad = std::numbers::pi / 180, kStillM = 0.005;
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

class Validator {
 public:
  Validator(const EpisodeReader& episode, const ValidateOptions& options, ValidationReport* report)
      : episode_(episode), manifest_(episode.manifest()), options_(options), report_(report) {}

  void Run() {
    report_->episode_id = manifest_.episode_id;
    report_->step_count = manifest_.step_count;
    CheckFrames();
    if (options_.stop.stop_requested()) return;
    CompareCameras();
    CheckTimes();
    CheckMotion();
    CheckRobot();
    CheckFolder();
    CountSuppressedFindings();
  }

 private:
  void AddFinding(const std::string& reason, std::string field, std::string message) {
    if (++finding_counts_[reason] > kMaxFindingsPerReason) return;
    report_->findings.push_back({reason, std::move(message), std::move(field)});
  }

  void CountSuppressedFindings() {
    for (const auto& [reason, count] : finding_counts_) {
      if (count <= kMaxFindingsPerReason) continue;
      const std::string more = std::to_string(count - kMaxFindingsPerReason);
      report_->findings.push_back({reason, "and " + more + " more of this kind", ""});
    }
  }

  /// Decodes every frame, in parallel; reports the results one after the other.
  void CheckFrames() {
    const int steps = episode_.step_count(), cameras = episode_.camera_count();
    std::vector<FrameFacts> facts(static_cast<std::size_t>(steps) * cameras);
    ParallelFor(static_cast<std::int64_t>(facts.size()), 1,
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t i = begin; i < end && !options_.stop.stop_requested(); ++i) {
                    facts[i] = MeasureFrame(episode_, static_cast<int>(i % steps),
                                            static_cast<int>(i / steps), options_.decode_colors);
                  }
                });
    for (int camera = 0; camera < cameras; ++camera) {
      CheckCamera(camera,
                  std::span(facts).subspan(static_cast<std::size_t>(camera) * steps, steps));
    }
  }

  void CheckCamera(int camera, std::span<const FrameFacts> facts) {
    CameraCheck check{manifest_.cameras[camera].name, 0, 0, 0};
    std::vector<double> medians_m;
    int frames = 0;
    for (std::size_t step = 0; step < facts.size(); ++step) {
      const FrameFacts& frame = facts[step];
      for (const Status& status : {frame.color, frame.depth}) {
        if (!status.ok()) report_->errors.push_back(status);
      }
      if (!frame.depth.ok()) continue;
      ++frames;
      check.valid_depth_ratio += frame.valid_depth_ratio;
      check.workspace_ratio += frame.workspace_ratio;
      if (frame.median_depth_m) medians_m.push_back(*frame.median_depth_m);
      AddFrameFindings(FramePath(manifest_.cameras[camera].depth_pattern, static_cast<int>(step)),
                       frame);
    }
    report_->frame_count += frames;
    if (frames > 0) {
      check.valid_depth_ratio /= frames;
      check.workspace_ratio /= frames;
      std::sort(medians_m.begin(), medians_m.end());
      check.median_depth_m = medians_m.empty() ? 0 : medians_m[medians_m.size() / 2];
      AddRatioFindings(check);
    }
    report_->cameras.push_back(std::move(check));
  }

  void AddFrameFindings(const std::string& path, const FrameFacts& frame) {
    if (frame.median_depth_m && (*frame.median_depth_m < kMinPlausibleMedianM ||
                                 *frame.median_depth_m > kMaxPlausibleMedianM)) {
      AddFinding(reason::DEPTH_IMPLAUSIBLE, path,
                 "the median depth is " + std::to_string(*frame.median_depth_m) +
                     " m, outside 0.05 to 20 m: is unit_m right?");
    }
    if (frame.saturated_ratio > 0) {
      AddFinding("DEPTH_SATURATED", path,
                 Percent(frame.saturated_ratio) +
                     " of the pixels have the depth 65535, the largest integer: if it means no "
                     "measurement, 0 should stand there");
    }
    if (frame.is_constant) AddFinding("DEPTH_CONSTANT", path, "every pixel has the same depth");
    if (frame.valid_depth_ratio < kAlmostEmptyRatio) {
      AddFinding("DEPTH_ALMOST_EMPTY", path,
                 Percent(frame.valid_depth_ratio) + " of the pixels have a depth");
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
    struct Pair {
      int step, camera;
      std::optional<CrossCameraDistance> distance{};
    };
    std::vector<Pair> compared;
    for (int step = 0; step < episode_.step_count(); step += step_stride) {
      for (int camera = 0; camera < pairs; camera += pair_stride) {
        if (ViewsOverlap(episode_.CameraAt(step, camera), episode_.CameraAt(step, camera + 1),
                         manifest_.cameras[camera].far_m, CompareLimits())) {
          compared.push_back({step, camera});
        }
      }
    }
    ParallelFor(std::ssize(compared), 1, [&](std::int64_t begin, std::int64_t end) {
      for (Pair& pair : std::span(compared).subspan(begin, end - begin)) {
        const auto a = episode_.ReadView(pair.step, pair.camera);
        const auto b = episode_.ReadView(pair.step, pair.camera + 1);
        if (!a.ok() || !b.ok()) continue;  // reported with its camera
        pair.distance = MeasureCrossCameraDistance(*a, *b, RegionOf(manifest_, pair.camera));
      }
    });
    std::vector<double> medians_m;
    for (const auto& [step, camera, distance] : compared) {
      if (!distance) continue;
      if (distance->median_m >= 0) medians_m.push_back(distance->median_m);
      const std::string& other = manifest_.cameras[camera + 1].name;
      ReportDistance(*distance, manifest_.cameras[camera].name + ", " + other, step);
    }
    if (medians_m.empty()) return;
    std::sort(medians_m.begin(), medians_m.end());
    report_->cross_camera_distance_m = medians_m[medians_m.size() / 2];
  }

  /// Views of a static scene may look at different sides of it; cameras around a robot see the same
  /// table from anywhere.
  OverlapLimits CompareLimits() const {
    if (manifest_.kind == EpisodeKind::kStaticViews) return {};
    return {std::numbers::pi, std::numeric_limits<double>::infinity()};
  }

  void ReportDistance(const CrossCameraDistance& distance, const std::string& cameras, int step) {
    const double limit_m = SceneReportOptions().suspect_distance_m;
    if (distance.median_m <= limit_m && !distance.views_disagree) return;
    AddFinding("CALIBRATION_SUSPECT", "cameras " + cameras,
               distance.median_m < 0
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
    if (manifest_.actions && manifest_.states) CompareTurns();
    if (manifest_.states && manifest_.kind == EpisodeKind::kManipulation) {
      CheckUnit();
      CheckCoverage();
    }
  }

  /// Angles beyond their limits that lie within them when they are taken for degrees.
  void CheckUnit() {
    const MotionTable& motion = *manifest_.states;
    const NumberTable& states = episode_.states();
    double largest = 0;
    for (std::size_t i = 0; i < states.values.size(); ++i) {
      const TableColumn& rule = motion.columns[i % motion.columns.size()];
      if (rule.unit != "rad") continue;
      const double in_rad = states.values[i] * std::numbers::pi / 180;
      if (!IsWithinJointLimits(in_rad, rule.min_value, rule.max_value)) return;
      if (IsWithinJointLimits(states.values[i], rule.min_value, rule.max_value)) continue;
      largest = std::max(largest, std::abs(states.values[i]));
    }
    if (largest <= 2 * std::numbers::pi) return;
    AddFinding("JOINT_UNIT_SUSPECT", motion.file,
               "angles up to " + std::to_string(largest) +
                   " lie beyond their limits in radians and within them in degrees: are they "
                   "degrees? joints are radians");
  }

  /// Of a robot that stands still nothing can be learnt.
  void CheckCoverage() {
    const MotionTable& motion = *manifest_.states;
    const NumberTable& states = episode_.states();
    if (motion.kind != ActionKind::kJointPositions || states.row_count < 2) return;
    for (std::int64_t column = 0; column < states.column_count; ++column) {
      double low = states.values[column], high = low;
      for (std::int64_t at = column; at < std::ssize(states.values); at += states.column_count) {
        low = std::min(low, states.values[at]);
        high = std::max(high, states.values[at]);
      }
      if (high - low > (motion.columns[column].unit == "m" ? kStillM : kStillRad)) return;
    }
    AddFinding("MOTION_COVERAGE_LOW", motion.file,
               "no joint moves by more than 1 degree or 5 mm: nothing can be learnt of what the "
               "robot does");
  }

  /// Of two sources one may count turns and the other wrap them.
  void CompareTurns() {
    const MotionTable& motion = *manifest_.actions;
    const NumberTable &actions = episode_.actions(), &states = episode_.states();
    if (motion.kind != ActionKind::kJointPositions || motion.columns != manifest_.states->columns) {
      return;
    }
    for (std::size_t i = 0; i < std::min(actions.values.size(), states.values.size()); ++i) {
      const TableColumn& rule = motion.columns[i % motion.columns.size()];
      const double difference = actions.values[i] - states.values[i];
      if (rule.unit != "rad" || std::abs(difference) <= std::numbers::pi) continue;
      AddFinding(
          "ANGLE_WRAPPED",
          motion.file + " row " + std::to_string(i / motion.columns.size()) + ", " + rule.name,
          "differs from the state by " + std::to_string(difference) +
              " rad: is one of them wrapped to one turn?");
    }
  }

  void CheckTable(const MotionTable& motion, const NumberTable& table) {
    for (std::int64_t column = 0; column < table.column_count; ++column) {
      const TableColumn& rule = motion.columns[column];
      for (std::int64_t row = 0; row < table.row_count; ++row) {
        const double value = table.values[row * table.column_count + column];
        const std::string field = motion.file + " row " + std::to_string(row) + ", " + rule.name;
        if (!IsWithinJointLimits(value, rule.min_value, rule.max_value)) {
          AddFinding(reason::ACTION_OUT_OF_RANGE, field,
                     std::to_string(value) + " is outside " + std::to_string(rule.min_value) +
                         " ... " + std::to_string(rule.max_value) + " " + rule.unit +
                         kJointSlackText);
        }
        const double before =
            row == 0 ? value : table.values[(row - 1) * table.column_count + column];
        const bool is_angle = motion.kind == ActionKind::kJointPositions && rule.unit == "rad";
        if (is_angle && std::abs(value - before) > std::numbers::pi) {
          AddFinding("ANGLE_WRAPPED", field,
                     "changes by " + std::to_string(value - before) +
                         " rad in one step: wrapped to one turn? a motion goes on past it");
        } else if (is_angle &&
                   std::abs(value - before) > kJumpRangeShare * (rule.max_value - rule.min_value)) {
          AddFinding("ACTION_JUMP", field,
                     "changes by " + std::to_string(value - before) + " rad in one step");
        }
      }
    }
  }

  /// The robot's joints against the pictures, and attachment against the masks, in some steps.
  void CheckRobot() {
    if (episode_.robot() == nullptr || !manifest_.states) return;
    const auto joints = MeasuredJoints(episode_, 0);
    if (!joints.ok()) {
      AddFinding("ROBOT_COLUMNS_UNKNOWN", manifest_.states->file, joints.status().message());
      return;
    }
    const auto truth = SimulationTruth::Open(episode_);
    if (!truth.ok()) report_->errors.push_back(truth.status());
    const bool has_truth = truth.ok() && truth->has_value();
    const int stride = std::max(1, (episode_.step_count() + kMaxRobotSteps - 1) / kMaxRobotSteps);
    for (int step = 0; step < episode_.step_count() && !options_.stop.stop_requested();
         step += stride) {
      CheckAgreement(step);
      if (has_truth) CheckAttachment(**truth, step);
    }
  }

  void CheckAgreement(int step) {
    std::vector<RgbdView> views;
    for (int camera = 0; camera < episode_.camera_count(); ++camera) {
      auto view = episode_.ReadView(step, camera);
      if (view.ok()) views.push_back(*std::move(view));  // others are reported with their camera
    }
    const auto joints = MeasuredJoints(episode_, step);
    const auto findings = CheckRobotAgreement(views, *episode_.robot(), *joints);
    if (!findings.ok()) return;  // joints past their limits, which CheckTable reports
    for (const Finding& finding : *findings) {
      AddFinding(finding.reason, "step " + std::to_string(step), finding.message);
    }
  }

  void CheckAttachment(const SimulationTruth& truth, int step) {
    const auto score = ScoreAttachment(episode_, truth, step);
    if (!score.ok()) {
      report_->errors.push_back(score.status());
      return;
    }
    if (!report_->attachment) report_->attachment.emplace();
    *report_->attachment += *score;
  }

  /// Files that no hash covers, and listed files that no frame check has opened.
  void CheckFolder() {
    const auto& listed = episode_.ListedFiles();
    std::set<std::string> frames;  // which were read
    for (const EpisodeCamera& camera : manifest_.cameras) {
      for (int step = 0; step < manifest_.step_count; ++step) {
        frames.insert(FramePath(camera.color_pattern, step));
        frames.insert(FramePath(camera.depth_pattern, step));
      }
    }
    for (const auto& [path, hash] : listed) {
      if (frames.contains(path)) continue;
      if (const auto bytes = episode_.ReadFile(path); !bytes.ok()) {
        report_->errors.push_back(bytes.status());
      }
    }
    std::error_code error;
    const fs::path root = episode_.directory();
    for (const auto& entry : fs::recursive_directory_iterator(root, error)) {
      if (!entry.is_regular_file(error)) continue;
      const std::string path = fs::relative(entry.path(), root, error).generic_string();
      if (path == kManifestFile || path == "files.sha256" || listed.count(path) > 0 ||
          IsInSystemFiles(path)) {
        continue;
      }
      AddFinding("FILE_UNLISTED", path, "not listed in files.sha256");
    }
  }

  const EpisodeReader& episode_;
  const EpisodeManifest& manifest_;
  const ValidateOptions& options_;
  ValidationReport* report_;
  std::map<std::string, int> finding_counts_;
};

}  // namespace

StatusOr<ValidationReport> ValidateEpisode(const std::string& episode_dir,
                                           const ValidateOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode,
                              EpisodeReader::Open(episode_dir, {options.verify_hashes}));
  ValidationReport report;
  Validator(episode, options, &report).Run();
  if (options.stop.stop_requested()) return Cancelled("validation stopped");
  return report;
}

}  // namespace interlacer
