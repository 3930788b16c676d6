#pragma once

/// Whether two render targets need one rendering only, such as colour and depth of one camera.
/// Pure function, thread-safe.

#include "common/prediction.h"

namespace interlacer {

inline bool ShowSameView(const RenderTarget& a, const RenderTarget& b) {
  if (a.camera.has_value() != b.camera.has_value()) return false;
  if (!a.camera) return a.scene_camera_name == b.scene_camera_name;
  const Camera &x = *a.camera, &y = *b.camera;
  return x.width_px == y.width_px && x.height_px == y.height_px && x.fx_px == y.fx_px &&
         x.fy_px == y.fy_px && x.cx_px == y.cx_px && x.cy_px == y.cy_px &&
         x.distortion_model == y.distortion_model &&
         x.distortion_coefficients == y.distortion_coefficients &&
         x.world_from_camera.translation_m == y.world_from_camera.translation_m &&
         x.world_from_camera.rotation_xyzw == y.world_from_camera.rotation_xyzw;
}

}  // namespace interlacer
