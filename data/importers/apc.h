#pragma once

/// RealSense recordings in the layout of andyzeng/apc-vision-toolbox.
///
/// frame-NNNNNN.color.png, frame-NNNNNN.depth.png, cam.info.txt. Depth bits are rotated:
/// d = (v >> 3) | (v << 13) in 16 bits, 10000 units a metre. Depth lies in the colour camera, so
/// the colour matrix is the right one and the depth matrix of the same file is not read. Poses are
/// world_from_camera; frames without one are left out. Errors: as data/importers/importers.h.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/camera.h"
#include "common/status.h"
#include "data/importers/import_options.h"

namespace interlacer {

/// cam.info.txt: intrinsics of the colour camera (no size) and the pose of each frame number.
struct ApcCameraInfo {
  Camera color_camera;
  std::map<int, Transform> world_from_camera;
  int lost_count = 0;  ///< poses of moments without tracking, left out
};
StatusOr<ApcCameraInfo> ParseApcCameraInfo(std::string_view text, const std::string& file);

inline std::uint16_t UnrotateApcDepth(std::uint16_t value) {
  return static_cast<std::uint16_t>((value >> 3) | (value << 13));
}

StatusOr<ImportReport> ImportApc(const ImportOptions& options);

}  // namespace interlacer
