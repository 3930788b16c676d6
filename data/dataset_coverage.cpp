#include "data/dataset_coverage.h"

#include <algorithm>
#include <cstdio>
#include <numbers>

#include "common/transforms.h"
#include "data/pose_spread.h"

namespace interlacer {
namespace {

/// Calibrating the same stand twice differs by less: hand-eye and board calibrations repeat to a
/// few millimetres.
constexpr double kSamePlaceM = 0.005, kSameTurnRad = 0.5 * std::numbers::pi / 180;
/// A stand that is knocked or nudged moves by less; a camera that was put elsewhere by more, and
/// then tables and robots lie elsewhere in its picture.
constexpr double kElsewhereM = 0.2, kElsewhereRad = 15 * std::numbers::pi / 180;
/// Recordings that start within a working day are of one session.
constexpr std::int64_t kSessionNs = std::int64_t{12} * 3600 * 1'000'000'000;
/// 9 September 2001: earlier times count from the start of something, as importers write them where
/// a recording does not say when it was made.
constexpr std::int64_t kFirstWallClockNs = std::int64_t{1'000'000'000} * 1'000'000'000;
/// Of a range of 5 rad a quarter of a radian: less is hardly more than one posture, and what lies
/// beyond it the model never saw.
constexpr double kHardlyMovedShare = 0.05;
/// Importers write this for joints without limits (data/importers/joint_columns.h).
constexpr double kNoLimit = 1000;

/// "42.0 cm and 3.1 deg".
std::string Apart(double distance_m, double turn_rad) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f cm and %.1f deg", 100 * distance_m,
                turn_rad * 180 / std::numbers::pi);
  return text;
}

double RangeShare(const TableColumn& rule, double low, double high) {
  double range = rule.max_value - rule.min_value;
  if (range >= 2 * kNoLimit) range = rule.unit == "rad" ? 2 * std::numbers::pi : 0;
  return range > 0 ? std::min(1.0, (high - low) / range) : -1;
}

}  // namespace

void DatasetCoverageCheck::Add(const EpisodeReader& episode) {
  const EpisodeManifest& manifest = episode.manifest();
  if (manifest.kind != EpisodeKind::kManipulation) return;
  ++episode_count_;
  for (int c = 0; c < episode.camera_count(); ++c) {
    const EpisodeCamera& camera = manifest.cameras[static_cast<std::size_t>(c)];
    CameraPlacings& placings = cameras_[camera.name];
    placings.moves = placings.moves || !camera.poses_file.empty();
    if (!camera.poses_file.empty()) continue;
    const std::int64_t start_ns = episode.CaptureTimeNs(0, c);
    placings.placings.push_back(
        {manifest.episode_id, camera.camera.world_from_camera, start_ns,
         manifest.source.kind != "simulate" && start_ns >= kFirstWallClockNs});
  }
  if (!manifest.states || manifest.states->kind != ActionKind::kJointPositions) return;
  const NumberTable& states = episode.states();
  const std::string robot = manifest.robot ? manifest.robot->model : "";
  for (std::size_t i = 0; i < states.values.size(); ++i) {
    const std::size_t column = i % static_cast<std::size_t>(states.column_count);
    const TableColumn& rule = manifest.states->columns[column];
    const double value = states.values[i];
    const auto [entry, is_new] =
        joints_.try_emplace({robot, rule.name}, JointRange{rule, value, value});
    entry->second.low = std::min(entry->second.low, value);
    entry->second.high = std::max(entry->second.high, value);
  }
}

void DatasetCoverageCheck::AddCalibrationDiffers(const std::string& camera,
                                                 const std::vector<Placing>& placings,
                                                 DatasetCoverage* coverage) {
  std::vector<const Placing*> recorded;
  std::vector<TimedPose> poses;
  for (const Placing& placing : placings) {
    if (!placing.is_recorded) continue;
    recorded.push_back(&placing);
    poses.push_back({placing.start_ns, placing.world_from_camera});
  }
  const auto pair =
      FarthestWithin(poses, kSessionNs, {kElsewhereM, kElsewhereRad}, {kSamePlaceM, kSameTurnRad});
  if (!pair) return;
  const Placing *first = recorded[pair->first], *second = recorded[pair->second];
  const Transform &x = first->world_from_camera, &y = second->world_from_camera;
  coverage->findings.push_back(
      {"CALIBRATION_DIFFERS",
       Apart(DistanceM(x.translation_m, y.translation_m), TurnRad(x, y)) + " apart in episodes " +
           first->episode_id + " and " + second->episode_id +
           " of one session: was it moved? else one of the calibrations is wrong",
       "camera " + camera});
}

DatasetCoverage DatasetCoverageCheck::Result() const {
  DatasetCoverage coverage;
  coverage.episode_count = episode_count_;
  bool has_other_views = false;
  for (const auto& [name, placings] : cameras_) {
    CameraSpread spread{name, static_cast<int>(placings.placings.size()), 0, 0, 0, placings.moves};
    DistinctPoses distinct({kSamePlaceM, kSameTurnRad});
    std::vector<Transform> poses;
    for (const Placing& placing : placings.placings) {
      distinct.Add(placing.world_from_camera);
      poses.push_back(placing.world_from_camera);
    }
    const PoseSpread apart = SpreadOf(poses);
    spread.spread_m = apart.distance_m;
    spread.spread_rad = apart.turn_rad;
    spread.calibration_count = static_cast<int>(distinct.poses().size());
    has_other_views = has_other_views || spread.moves || spread.calibration_count > 1;
    coverage.cameras.push_back(std::move(spread));
    AddCalibrationDiffers(name, placings.placings, &coverage);
  }
  if (episode_count_ > 1 && !has_other_views) {
    coverage.findings.push_back(
        {"CALIBRATION_SPREAD_LOW",
         "every camera stands at one place in all " + std::to_string(episode_count_) +
             " episodes: a model learns these views alone; record some from elsewhere if it shall "
             "serve others",
         "cameras"});
  }
  std::string still;
  for (const auto& [key, range] : joints_) {
    const double share = RangeShare(range.rule, range.low, range.high);
    coverage.joints.push_back({key.first, key.second, range.low, range.high, share});
    if (share >= 0 && share < kHardlyMovedShare) still += (still.empty() ? "" : ", ") + key.second;
  }
  if (!still.empty()) {
    coverage.findings.push_back({"MOTION_COVERAGE_LOW",
                                 "in all episodes together they visit less than 5 % of their "
                                 "range: what they do beyond it cannot be learnt",
                                 "joints " + still});
  }
  return coverage;
}

}  // namespace interlacer
