#include "data/importers/tum.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "common/duration.h"
#include "common/file_io.h"
#include "common/transforms.h"
#include "data/importers/intrinsics.h"
#include "data/importers/number_lines.h"
#include "data/importers/source_files.h"
#include "data/importers/write_recording.h"

namespace interlacer {
namespace {

constexpr double kTumDepthUnitM = 1.0 / 5000;
constexpr double kMaxDepthOffsetS = 0.020;
constexpr double kMaxPoseGapS = 0.050;
/// A quaternion farther from norm 1 than this is not a rounded one.
constexpr double kMaxNormError = 0.01;

std::vector<TextLine> DataLines(std::string_view text) {
  std::vector<TextLine> lines = SplitLines(text);
  std::erase_if(lines, [](const TextLine& line) { return line.text.front() == '#'; });
  return lines;
}

struct Candidate {
  double offset_s;
  int color, depth;
};

/// Depth image of each colour image or -1: pairs within reach, the closest pair first, each image
/// once.
std::vector<int> MatchDepth(const std::vector<TumImage>& color,
                            const std::vector<TumImage>& depth) {
  std::vector<Candidate> candidates;
  std::size_t first = 0;
  for (std::size_t c = 0; c < color.size(); ++c) {
    while (first < depth.size() && depth[first].time_s < color[c].time_s - kMaxDepthOffsetS) {
      ++first;
    }
    for (std::size_t d = first; d < depth.size(); ++d) {
      const double offset_s = std::abs(depth[d].time_s - color[c].time_s);
      if (depth[d].time_s > color[c].time_s + kMaxDepthOffsetS) break;
      candidates.push_back({offset_s, static_cast<int>(c), static_cast<int>(d)});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.offset_s < b.offset_s; });
  std::vector<int> depth_of(color.size(), -1);
  std::vector<bool> used(depth.size(), false);
  for (const Candidate& candidate : candidates) {
    if (depth_of[candidate.color] >= 0 || used[candidate.depth]) continue;
    depth_of[candidate.color] = candidate.depth;
    used[candidate.depth] = true;
  }
  return depth_of;
}

std::optional<Transform> PoseAt(const std::vector<TumPose>& poses, double time_s) {
  const auto after =
      std::lower_bound(poses.begin(), poses.end(), time_s,
                       [](const TumPose& pose, double time) { return pose.time_s < time; });
  if (after == poses.end()) return std::nullopt;
  if (after->time_s == time_s) return after->world_from_camera;
  if (after == poses.begin()) return std::nullopt;
  const TumPose& before = *(after - 1);
  const double gap_s = after->time_s - before.time_s;
  if (gap_s > kMaxPoseGapS) return std::nullopt;
  return Interpolate(before.world_from_camera, after->world_from_camera,
                     (time_s - before.time_s) / gap_s);
}

double MedianSpacingS(const std::vector<TumImage>& color, const std::vector<TumMatch>& matches) {
  std::vector<double> spacings_s;
  for (std::size_t i = 1; i < matches.size(); ++i) {
    spacings_s.push_back(color[matches[i].color].time_s - color[matches[i - 1].color].time_s);
  }
  if (spacings_s.empty()) return 1.0;
  std::nth_element(spacings_s.begin(), spacings_s.begin() + spacings_s.size() / 2,
                   spacings_s.end());
  return spacings_s[spacings_s.size() / 2];
}

}  // namespace

StatusOr<std::vector<TumImage>> ParseTumImageList(std::string_view text, const std::string& file) {
  std::vector<TumImage> images;
  for (const TextLine& line : DataLines(text)) {
    TumImage image;
    const char* end = line.text.data() + line.text.size();
    const auto [next, error] = std::from_chars(line.text.data(), end, image.time_s);
    image.path = std::string(next, end);
    image.path.erase(0, image.path.find_first_not_of(" \t"));
    const bool leaves_folder =
        image.path.find("..") != std::string::npos || image.path.starts_with("/");
    if (error != std::errc() || !std::isfinite(image.time_s) || image.path.empty() ||
        leaves_folder) {
      return Mismatch(reason::SCHEMA_INVALID, file + ":" + std::to_string(line.number),
                      "a time and a path inside the recording", line.text.substr(0, 80));
    }
    images.push_back(std::move(image));
  }
  std::stable_sort(images.begin(), images.end(),
                   [](const auto& a, const auto& b) { return a.time_s < b.time_s; });
  return images;
}

StatusOr<TumTrajectory> ParseTumTrajectory(std::string_view text, const std::string& file) {
  TumTrajectory trajectory;
  for (const TextLine& line : DataLines(text)) {
    const std::string field = file + ":" + std::to_string(line.number);
    INTERLACER_ASSIGN_OR_RETURN(const auto n, ParseNumbers(line.text, ' ', field));
    if (n.size() != 8) {
      return Mismatch(reason::SCHEMA_INVALID, field, "8 numbers t tx ty tz qx qy qz qw",
                      std::to_string(n.size()));
    }
    const double norm = std::sqrt(n[4] * n[4] + n[5] * n[5] + n[6] * n[6] + n[7] * n[7]);
    if (!(std::abs(norm - 1) <= kMaxNormError)) {
      return Mismatch(reason::QUATERNION_NOT_UNIT, field, "norm 1 within 0.01",
                      std::to_string(norm));
    }
    trajectory.largest_norm_error = std::max(trajectory.largest_norm_error, std::abs(norm - 1));
    trajectory.poses.push_back(
        {n[0], {{n[1], n[2], n[3]}, {n[4] / norm, n[5] / norm, n[6] / norm, n[7] / norm}}});
  }
  std::stable_sort(trajectory.poses.begin(), trajectory.poses.end(),
                   [](const auto& a, const auto& b) { return a.time_s < b.time_s; });
  return trajectory;
}

std::vector<TumMatch> MatchTumFrames(const std::vector<TumImage>& color,
                                     const std::vector<TumImage>& depth,
                                     const std::vector<TumPose>& poses) {
  const std::vector<int> depth_of = MatchDepth(color, depth);
  std::vector<TumMatch> matches;
  for (std::size_t c = 0; c < color.size(); ++c) {
    if (depth_of[c] < 0) continue;
    const auto pose = PoseAt(poses, color[c].time_s);
    if (pose) matches.push_back({static_cast<int>(c), depth_of[c], *pose});
  }
  return matches;
}

namespace {

/// Reads a list without its missing images, which copies of a sequence often leave out; they become
/// a finding.
StatusOr<std::vector<TumImage>> ReadList(const std::string& folder, const std::string& name,
                                         ImportedRecording* recording) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(folder + name));
  INTERLACER_ASSIGN_OR_RETURN(std::vector<TumImage> images, ParseTumImageList(text, folder + name));
  std::vector<std::string> absent;
  std::error_code error;
  std::erase_if(images, [&](const TumImage& image) {
    const bool is_absent = !std::filesystem::exists(folder + image.path, error);
    if (is_absent) absent.push_back(image.path);
    return is_absent;
  });
  if (absent.empty()) return images;
  const std::string message = std::to_string(absent.size()) + " of " +
                              std::to_string(absent.size() + images.size()) +
                              " listed images are not there: " + AbbreviatedList(absent);
  if (images.empty()) {
    return NotFound(reason::FILE_NOT_FOUND, folder + name + ": " + message)
        .WithField(folder + name);
  }
  recording->findings.push_back({"FILE_MISSING", message, name});
  if (name == "rgb.txt") recording->skipped_count += static_cast<int>(absent.size());
  return images;
}

}  // namespace

StatusOr<ImportReport> ImportTum(const ImportOptions& options) {
  const std::string folder = options.source_dir + "/";
  ImportedRecording recording;
  recording.kind = EpisodeKind::kMovingCamera;
  recording.format = "tum";
  recording.depth_unit_m = options.depth_unit_m.value_or(kTumDepthUnitM);
  recording.world_frame_name = "motion_capture";
  INTERLACER_ASSIGN_OR_RETURN(recording.camera, ParseIntrinsics(options.intrinsics));
  INTERLACER_ASSIGN_OR_RETURN(const auto color, ReadList(folder, "rgb.txt", &recording));
  INTERLACER_ASSIGN_OR_RETURN(const auto depth, ReadList(folder, "depth.txt", &recording));
  const std::string pose_file = SourcePath(
      options.source_dir, options.trajectory.empty() ? "groundtruth.txt" : options.trajectory);
  INTERLACER_ASSIGN_OR_RETURN(const std::string pose_text, ReadTextFile(pose_file));
  INTERLACER_ASSIGN_OR_RETURN(const TumTrajectory trajectory,
                              ParseTumTrajectory(pose_text, pose_file));
  const std::vector<TumMatch> matches = MatchTumFrames(color, depth, trajectory.poses);
  for (const TumMatch& match : matches) {
    const double offset_s = color[match.color].time_s - color[matches.front().color].time_s;
    recording.frames.push_back({match.world_from_camera, ToNanoseconds(offset_s),
                                folder + color[match.color].path,
                                folder + depth[match.depth].path});
  }
  recording.skipped_count += static_cast<int>(color.size() - matches.size());
  recording.step_duration_s = MedianSpacingS(color, matches);
  recording.notes = {"depth matched within 20 ms, poses interpolated over gaps of at most 50 ms",
                     "capture times count from the first frame",
                     "largest quaternion norm error before normalisation: " +
                         std::to_string(trajectory.largest_norm_error)};
  return WriteRecording(std::move(recording), options);
}

}  // namespace interlacer
