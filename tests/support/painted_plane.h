#pragma once

/// A small real episode on disk: a textured table plane z = 0 seen by a few calibrated cameras.
/// Colour and depth are computed from the geometry, so the true value of every pixel is known.

#include <cmath>
#include <string>

#include "common/transforms.h"
#include "data/episode_writer.h"

namespace interlacer::testing {

struct PaintedPlane {
  int width_px = 32;
  int height_px = 24;
  int view_count = 3;
  double depth_unit_m = 0.0001;
  std::string episode_id = "painted_plane";
  /// A single camera named `camera` takes all views one after the other, 0.1 s apart.
  bool is_moving_camera = false;
};

inline Camera PlaneCamera(const PaintedPlane& plane, int view) {
  Camera camera;
  camera.width_px = plane.width_px;
  camera.height_px = plane.height_px;
  camera.fx_px = camera.fy_px = 0.9 * plane.width_px;
  camera.cx_px = (plane.width_px - 1) / 2.0;
  camera.cy_px = (plane.height_px - 1) / 2.0;
  camera.world_from_camera = LookAt({0.5, 0.15 * view - 0.15, 0.7}, {0, 0, 0});
  return camera;
}

/// Colour of a point of the plane.
inline std::array<std::uint8_t, 3> PlaneColor(double x, double y) {
  const auto wave = [](double v) { return static_cast<std::uint8_t>(127.5 + 100 * std::sin(v)); };
  return {wave(9 * x), wave(9 * y + 1), wave(5 * (x + y) + 2)};
}

inline void RenderPlane(const PaintedPlane& plane, const Camera& camera, RgbImage* color,
                        DepthImage16* depth) {
  const int w = plane.width_px, h = plane.height_px;
  *color = {w, h, std::vector<std::uint8_t>(3 * static_cast<std::size_t>(w) * h)};
  *depth = {w, h, plane.depth_unit_m, std::vector<std::uint16_t>(static_cast<std::size_t>(w) * h)};
  const Vec3d eye = camera.world_from_camera.translation_m;
  for (int v = 0; v < h; ++v) {
    for (int u = 0; u < w; ++u) {
      const Vec3d tip = Unproject(camera, u, v, 1.0);
      const double depth_m = eye[2] / (eye[2] - tip[2]);  // where the ray meets z = 0
      const std::size_t pixel = static_cast<std::size_t>(v) * w + u;
      const auto rgb =
          PlaneColor(eye[0] + depth_m * (tip[0] - eye[0]), eye[1] + depth_m * (tip[1] - eye[1]));
      for (int c = 0; c < 3; ++c) color->pixels[3 * pixel + c] = rgb[c];
      depth->pixels[pixel] = static_cast<std::uint16_t>(std::lround(depth_m / plane.depth_unit_m));
    }
  }
}

/// Writes the episode and returns its folder.
inline StatusOr<std::string> WritePaintedPlane(const std::string& directory,
                                               const PaintedPlane& plane = {}) {
  EpisodeManifest manifest;
  manifest.episode_id = plane.episode_id;
  manifest.kind = plane.is_moving_camera ? EpisodeKind::kMovingCamera : EpisodeKind::kStaticViews;
  manifest.created_time = "2026-01-01T00:00:00Z";
  manifest.source.kind = "simulate";
  manifest.source.tool = "test";
  manifest.task_name = "static";
  manifest.step_count = plane.is_moving_camera ? plane.view_count : 1;
  manifest.step_duration_s = plane.is_moving_camera ? 0.1 : 0.5;
  manifest.world_frame_name = "table";
  manifest.workspace = {{-1, -1, -0.1}, {1, 1, 1}};
  for (int i = 0; i < (plane.is_moving_camera ? 1 : plane.view_count); ++i) {
    EpisodeCamera camera;
    camera.name = plane.is_moving_camera ? "camera" : "view_" + std::to_string(i);
    camera.camera = PlaneCamera(plane, i);
    camera.depth_unit_m = plane.depth_unit_m;
    manifest.cameras.push_back(camera);
  }
  INTERLACER_ASSIGN_OR_RETURN(auto writer,
                              EpisodeWriter::Create(directory, manifest, {.overwrite = true}));
  std::vector<Transform> poses;
  for (int i = 0; i < plane.view_count; ++i) {
    const Camera camera = PlaneCamera(plane, i);
    poses.push_back(camera.world_from_camera);
    RgbImage color;
    DepthImage16 depth;
    RenderPlane(plane, camera, &color, &depth);
    const int step = plane.is_moving_camera ? i : 0;
    INTERLACER_RETURN_IF_ERROR(writer->WriteFrame(step, i - step, color, depth));
  }
  if (plane.is_moving_camera) INTERLACER_RETURN_IF_ERROR(writer->WritePoses(0, poses));
  INTERLACER_RETURN_IF_ERROR(writer->Finish());
  return directory;
}

}  // namespace interlacer::testing
