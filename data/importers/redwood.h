#pragma once

/// Redwood and Open3D recordings: folders of images and a trajectory.
///
/// Colour in `color`, `image` or `rgb` (JPEG or PNG), depth in `depth` (16-bit PNG, 1000 units a
/// metre) or in folders by option, paired by the numbers in their names
/// (data/importers/frame_pairs.h). The trajectory is a .log (header line and 4x4 matrix,
/// world_from_camera; the header's first number is the frame) or Open3D's JSON, whose `extrinsic`
/// is the inverse and column-major; which pose is whose: data/importers/pose_keys.h. Fewer poses
/// than images are usual; those images are left out. Images without a partner are left out too and
/// named by the finding FRAME_UNPAIRED.
/// The world is turned so that z points up. Errors: as data/importers/importers.h.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/status.h"
#include "data/importers/import_options.h"
#include "data/importers/intrinsics.h"

namespace interlacer {

struct RedwoodTrajectory {
  std::map<int, Transform> world_from_camera;  ///< by frame
  std::optional<Intrinsics> intrinsics;        ///< from JSON
  int lost_count = 0;                          ///< poses of moments without tracking, left out
};
StatusOr<RedwoodTrajectory> ParseRedwoodLog(std::string_view text, const std::string& file);
StatusOr<RedwoodTrajectory> ParseOpen3DTrajectory(std::string_view text, const std::string& file);

StatusOr<ImportReport> ImportRedwood(const ImportOptions& options);

}  // namespace interlacer
