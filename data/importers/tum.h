#pragma once

/// TUM RGB-D recordings: three lists with time bases of their own.
///
/// Depth (5000 units a metre) is matched to colour by the nearest time within 20 ms, each depth
/// image once; the pose is interpolated between neighbours at most 50 ms apart. Frames without
/// partner or pose are counted; listed images that are not there are named by the finding
/// FILE_MISSING. Poses are world_from_camera of the colour camera; their quaternions
/// are renormalised and the largest error is noted. The archive has no intrinsics: they are a
/// required option. Errors: as data/importers/importers.h.

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
struct TumPose {
  double time_s = 0;
  Transform world_from_camera;
};
struct TumTrajectory {
  std::vector<TumPose> poses;     ///< ascending in time
  double largest_norm_error = 0;  ///< of quaternions, before they were normalised
};
/// Index of a colour image with its depth image and pose.
struct TumMatch {
  int color = 0;
  int depth = 0;
  Transform world_from_camera;
};

StatusOr<std::vector<TumImage>> ParseTumImageList(std::string_view text, const std::string& file);
StatusOr<TumTrajectory> ParseTumTrajectory(std::string_view text, const std::string& file);
std::vector<TumMatch> MatchTumFrames(const std::vector<TumImage>& color,
                                     const std::vector<TumImage>& depth,
                                     const std::vector<TumPose>& poses);

StatusOr<ImportReport> ImportTum(const ImportOptions& options);

}  // namespace interlacer
