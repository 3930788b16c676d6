#include "data/importers/tum.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>

#include "common/duration.h"
#include "common/file_io.h"
#include "common/printable_text.h"
#include "common/transforms.h"
#include "data/importers/intrinsics.h"
#include "data/importers/source_files.h"
#include "data/importers/write_recording.h"

namespace interlacer {
namespace {

constexpr double kTumDepthUnitM = 1.0 / 5000;
constexpr double kMaxDepthOffsetS = 0.020;
constexpr double kMaxPoseGapS = 0.050;
/// Half of the last digit of stamps with two decimals.
constexpr double kSameMomentS = 0.005;
/// Of spacings of one frame around their median; a left out frame doubles one.
constexpr double kMostSpread = 0.5;

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
    if (c > 0 && color[c].time_s == color[c - 1].time_s) continue;
    while (first < depth.size() && depth[first].time_s < color[c].time_s - kMaxDepthOffsetS) {
      ++first;
    }
    for (std::size_t d = first; d < depth.size(); ++d) {
      const double offset_s = std::abs(depth[d].time_s - color[c].time_s);
      if (depth[d].time_s > color[c].time_s + kMaxDepthOffsetS) break;
      if (d > first && depth[d].time_s == depth[d - 1].time_s) continue;
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
  if (after != poses.begin() && after != poses.end()) {
    const TumPose& before = *(after - 1);
    const double gap_s = after->time_s - before.time_s;
    if (gap_s <= kMaxPoseGapS) {
      return Interpolate(before.world_from_camera, after->world_from_camera,
                         (time_s - before.time_s) / gap_s);
    }
  }
  // At an end, or of a slow tracker: stamps of one moment may have been written with other digits.
  for (const auto pose : {after, after - (after == poses.begin() ? 0 : 1)}) {
    if (pose != poses.end() && std::abs(pose->time_s - time_s) <= kSameMomentS) {
      return pose->world_from_camera;
    }
  }
  return std::nullopt;
}

/// The mean of the spacings near the median: stamps of few digits round each of them.
double SpacingS(const std::vector<TumImage>& color, const std::vector<TumMatch>& matches) {
  std::vector<double> spacings_s;
  for (std::size_t i = 1; i < matches.size(); ++i) {
    spacings_s.push_back(color[matches[i].color].time_s - color[matches[i - 1].color].time_s);
  }
  if (spacings_s.empty()) return 1.0;
  std::sort(spacings_s.begin(), spacings_s.end());
  const double median_s = spacings_s[spacings_s.size() / 2];
  std::erase_if(spacings_s, [median_s](double spacing_s) {
    return std::abs(spacing_s - median_s) > kMostSpread * median_s;
  });
  return std::accumulate(spacings_s.begin(), spacings_s.end(), 0.0) /
         static_cast<double>(spacings_s.size());
}

}  // namespace

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

/// "10.1 to 12.5 s".
template <typename Item>
std::string TimeRange(const std::vector<Item>& items) {
  if (items.empty()) return "none";
  char text[80];
  std::snprintf(text, sizeof(text), "%.6f to %.6f s", items.front().time_s, items.back().time_s);
  return text;
}

/// Some tools write more columns behind the path; paths may hold blanks too.
std::string PathThatIsThere(const std::string& folder, const std::string& path) {
  const std::string first = path.substr(0, path.find(' '));
  return !HasContent(folder + path) && HasContent(folder + first) ? first : path;
}

/// What is there in the place of a file, if its name differs in capitals alone.
std::string OtherCase(const std::string& path) {
  const std::string there = SameNameOfOtherCase(path);
  return there.empty() ? "" : "; " + there + " is there: capitals count";
}

void AddTimeFindings(const TumTimes& times, const std::string& file, ImportedRecording* recording) {
  if (times.same_count > 0) {
    recording->findings.push_back(
        {"TIMESTAMP_DUPLICATE",
         std::to_string(times.same_count) + " entries with the time stamp of another were left out",
         file});
  }
  if (times.backward_count > 0) {
    recording->findings.push_back(
        {"TIMESTAMP_ORDER",
         std::to_string(times.backward_count) +
             " entries are earlier than the one before and were sorted: were seconds and "
             "nanoseconds joined without leading zeros?",
         file});
  }
  if (times.are_counts) {
    recording->findings.push_back({"TIMESTAMP_SUSPECT",
                                   "the time stamps are whole numbers, multiples of one step "
                                   "apart, and were taken for seconds: are they numbers of frames?",
                                   file});
  }
}

/// Reads a list without its missing images, which copies of a sequence often leave out; they become
/// a finding.
StatusOr<std::vector<TumImage>> ReadList(const ImportOptions& options, const std::string& name,
                                         ImportedRecording* recording) {
  const std::string folder = options.source_dir + "/";
  INTERLACER_ASSIGN_OR_RETURN(
      const std::string path,
      FirstOf(options.source_dir, {name.c_str()}, "list of images", "another format than tum"));
  INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  INTERLACER_ASSIGN_OR_RETURN(TumImageList list,
                              ParseTumImageList(text, folder + name, options.time_unit));
  AddTimeFindings(list.times, name, recording);
  if (list.nameless_count > 0) {
    recording->findings.push_back(
        {"FILE_MISSING", std::to_string(list.nameless_count) + " entries name no file", name});
  }
  if (name == "rgb.txt") recording->skipped_count += list.times.same_count + list.nameless_count;
  std::vector<TumImage> images = std::move(list.images);
  std::vector<std::string> absent;
  std::erase_if(images, [&](TumImage& image) {
    image.path = PathThatIsThere(folder, image.path);
    const bool is_absent = !HasContent(folder + image.path);
    if (is_absent) absent.push_back(image.path);
    return is_absent;
  });
  if (absent.empty()) return images;
  const bool is_other_encoding =
      std::any_of(absent.begin(), absent.end(),
                  [](const std::string& entry) { return ValidUtf8(entry) != entry; });
  const std::string message =
      std::to_string(absent.size()) + " of " + std::to_string(absent.size() + images.size()) +
      " listed images are not there or empty: " + AbbreviatedList(absent) +
      (is_other_encoding ? "; the list is not UTF-8: iconv -f LATIN1 -t UTF-8 turns it, if "
                           "it is Latin-1"
                         : "") +
      OtherCase(folder + absent.front());
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
  recording.world_frame_name = "motion_capture";
  INTERLACER_ASSIGN_OR_RETURN(const Intrinsics camera,
                              GivenIntrinsics(options.intrinsics, options.calibration));
  SetCamera(camera, options, kTumDepthUnitM, &recording);
  INTERLACER_ASSIGN_OR_RETURN(const auto color, ReadList(options, "rgb.txt", &recording));
  INTERLACER_ASSIGN_OR_RETURN(const auto depth, ReadList(options, "depth.txt", &recording));
  std::string pose_file = SourcePath(options.source_dir, options.trajectory);
  if (options.trajectory.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(pose_file, FirstOf(options.source_dir, {"groundtruth.txt"},
                                                   "file with poses", "--trajectory"));
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::string pose_text, ReadTextFile(pose_file));
  INTERLACER_ASSIGN_OR_RETURN(const TumTrajectory trajectory,
                              ParseTumTrajectory(pose_text, pose_file, options.time_unit));
  AddTimeFindings(trajectory.times, pose_file, &recording);
  AddLostPoses(trajectory.lost_count, &recording);
  const std::vector<TumMatch> matches = MatchTumFrames(color, depth, trajectory.poses);
  if (matches.empty()) {
    return Mismatch(
        reason::NO_DEPTH, options.source_dir,
        "colour and depth within 20 ms of each other, between poses at most 50 ms apart",
        "colour " + TimeRange(color) + ", depth " + TimeRange(depth) + ", poses " +
            TimeRange(trajectory.poses));
  }
  for (const TumMatch& match : matches) {
    const double offset_s = color[match.color].time_s - color[matches.front().color].time_s;
    recording.frames.push_back({match.world_from_camera, ToNanoseconds(offset_s),
                                folder + color[match.color].path,
                                folder + depth[match.depth].path});
  }
  recording.skipped_count += static_cast<int>(color.size() - matches.size());
  recording.step_duration_s = SpacingS(color, matches);
  recording.notes.insert(
      recording.notes.end(),
      {"depth matched within 20 ms, poses interpolated over gaps of at most 50 ms",
       "capture times count from the first frame",
       "largest quaternion norm error before normalisation: " +
           std::to_string(trajectory.largest_norm_error)});
  return WriteRecording(std::move(recording), options);
}

}  // namespace interlacer
