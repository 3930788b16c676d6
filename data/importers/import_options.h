#pragma once

/// What every importer takes and gives back.
///
/// What a source lacks (intrinsics, where its format has none) is a required option and never
/// guessed. Near and far, and the workspace box, are options; without them they are computed from
/// the measured points and the manifest's notes say how. Value types.

#include <optional>
#include <string>

#include "common/camera.h"
#include "data/validate.h"

namespace interlacer {

struct ImportOptions {
  std::string source_dir;
  std::string episode_dir;  ///< written
  std::string episode_id;   ///< empty: the name of episode_dir
  /// "fx,fy,cx,cy" in pixels, or an Open3D camera JSON; required for tum and redwood.
  std::string intrinsics;
  /// Metres per depth integer, where the format's own (tum 1/5000, redwood 1/1000) does not hold.
  std::optional<double> depth_unit_m;
  /// File with poses inside source_dir; empty: the format's usual name.
  std::string trajectory;
  std::optional<double> near_m;
  std::optional<double> far_m;
  std::optional<Box> workspace;
  int frame_stride = 1;  ///< every n-th frame
  std::string license;
  std::string attribution;
  std::string command;  ///< for the manifest
  bool overwrite = false;
};

struct ImportReport {
  int frame_count = 0;    ///< written
  int skipped_count = 0;  ///< frames of the source without partner or pose
  ValidationReport validation;
};

}  // namespace interlacer
