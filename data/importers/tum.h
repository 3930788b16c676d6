#pragma once

/// TUM RGB-D recordings: three lists with time bases of their own.
///
/// Depth (5000 units a metre) is matched to colour by the nearest time within 20 ms, each depth
/// image once; the pose is interpolated between neighbours at most 50 ms apart. Frames without
/// partner or pose are counted; listed images that are not there are named by the finding
/// FILE_MISSING. Poses are world_from_camera of the colour camera; their quaternions
/// are renormalised and the largest error is noted; rows of a lost tracker (NaN, zeros) are counted
/// and left out, as the benchmark's own tools do. Tables: data/number_lines.h and
/// pose_columns.h; time stamps: time_stamps.h. Entries that repeat a stamp are left out; where they
/// differ they are counted. The archive has no intrinsics: they are a required option. Errors: as
/// data/importers/importers.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"
#include "data/importers/import_options.h"

namespace interlacer {

struct TumImage {
  double time_s = 0;
  std::string path;  ///< relative to the recording
};
/// What is odd about the time stamps of a file.
struct TumTimes {
  int same_count = 0;       ///< other entries of a time that is there, left out
  int backward_count = 0;   ///< entries earlier than the one before them
  bool are_counts = false;  ///< whole numbers, multiples of one step apart
};
struct TumImageList {
  std::vector<TumImage> images;  ///< ascending in time
  int nameless_count = 0;        ///< entries of a time alone, left out
  TumTimes times;
};
struct TumPose {
  double time_s = 0;
  Transform world_from_camera;
};
struct TumTrajectory {
  std::vector<TumPose> poses;  ///< ascending in time
  int lost_count = 0;          ///< rows of moments without tracking, left out
  TumTimes times;
  double largest_norm_error = 0;  ///< of quaternions, before they were normalised
};
/// Index of a colour image with its depth image and pose.
struct TumMatch {
  int color = 0;
  int depth = 0;
  Transform world_from_camera;
};

/// `time_unit`: that of the stamps, empty to find it.
StatusOr<TumImageList> ParseTumImageList(std::string_view text, const std::string& file,
                                         const std::string& time_unit = "");
StatusOr<TumTrajectory> ParseTumTrajectory(std::string_view text, const std::string& file,
                                           const std::string& time_unit = "");
std::vector<TumMatch> MatchTumFrames(const std::vector<TumImage>& color,
                                     const std::vector<TumImage>& depth,
                                     const std::vector<TumPose>& poses);

StatusOr<ImportReport> ImportTum(const ImportOptions& options);

}  // namespace interlacer
