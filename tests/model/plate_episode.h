#pragma once

/// An episode of the two plates (tests/model/plane_robot.h) on a painted plane, with their robot
/// folder in it. The plates carry their colours along.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "data/episode_writer.h"
#include "robots/joint_values.h"
#include "robots/robot_folder.h"
#include "tests/model/plane_robot.h"
#include "tests/support/painted_plane.h"

namespace interlacer::testing {

inline constexpr int kPlateSteps = 5;
inline constexpr double kPlateTurnRad = 0.3, kPlateSlideM = 0.03;  // in a step

/// Where the material that is now at (x, y) was when the plates had not moved.
inline std::pair<double, double> PlateOrigin(double x, double y, int step) {
  const double turned = -kPlateTurnRad * step, slid_m = kPlateSlideM * step;
  const double c = std::cos(turned), s = std::sin(turned), dx = x - kTurningPlateXM;
  const double along = c * dx - s * y, across = s * dx + c * y;
  if (std::max(std::abs(along), std::abs(across)) <= kPlateHalfM) {
    return {kTurningPlateXM + along, across};
  }
  const double from_slider = x - slid_m - kSlidingPlateXM;
  if (std::max(std::abs(from_slider), std::abs(y)) <= kPlateHalfM) return {x - slid_m, y};
  return {x, y};
}

inline void WritePlateFrames(const PaintedPlane& plane, EpisodeWriter* writer) {
  for (int step = 0; step < kPlateSteps; ++step) {
    for (int view = 0; view < 2; ++view) {
      const Camera camera = PlaneCamera(plane, 2 * view);
      RgbImage color;
      DepthImage16 depth;
      RenderPlane(plane, camera, &color, &depth);
      for (int v = 0; v < plane.height_px; ++v) {
        for (int u = 0; u < plane.width_px; ++u) {
          const std::size_t pixel = static_cast<std::size_t>(v) * plane.width_px + u;
          const Vec3d p = Unproject(camera, u, v, depth.pixels[pixel] * plane.depth_unit_m);
          const auto [x, y] = PlateOrigin(p[0], p[1], step);
          const auto rgb = PlaneColor(x, y);
          for (int c = 0; c < 3; ++c) color.pixels[3 * pixel + c] = rgb[c];
        }
      }
      const Status status = writer->WriteFrame(step, view, color, depth);
      INTERLACER_CHECK(status.ok(), status.ToString());
    }
  }
}

/// Which order the columns of the tables have.
enum class PlateColumns { kOfRobot, kReversed };

/// Measured rows 0 to 4; commanded rows are the measured ones.
inline NumberTable PlateRows(PlateColumns order) {
  NumberTable rows{kPlateSteps, 2, {}};
  for (int step = 0; step < kPlateSteps; ++step) {
    double row[] = {kPlateTurnRad * step, kPlateSlideM * step};
    if (order == PlateColumns::kReversed) std::swap(row[0], row[1]);
    rows.values.insert(rows.values.end(), row, row + 2);
  }
  return rows;
}

/// Returns the episode's folder. Without `with_folder` nothing describes the robot.
inline std::string WritePlateEpisode(const std::string& directory, bool with_folder = true,
                                     PlateColumns order = PlateColumns::kOfRobot) {
  const PaintedPlane plane;
  const Robot robot = TwoPlates();
  EpisodeManifest manifest;
  manifest.episode_id = "plates";
  manifest.kind = EpisodeKind::kManipulation;
  manifest.created_time = "2026-01-01T00:00:00Z";
  manifest.source.kind = "simulate";
  manifest.source.tool = "test";
  manifest.task_name = "turn";
  manifest.step_count = kPlateSteps;
  manifest.world_frame_name = "table";
  manifest.workspace = {{-1, -1, -0.1}, {1, 1, 1}};
  for (int view = 0; view < 2; ++view) {
    EpisodeCamera camera;
    camera.name = view == 0 ? "left" : "right";
    camera.camera = PlaneCamera(plane, 2 * view);
    camera.depth_unit_m = plane.depth_unit_m;
    manifest.cameras.push_back(camera);
  }
  std::vector<TableColumn> columns;
  for (const std::string& name : ColumnNames(robot)) {
    columns.push_back({name, name.ends_with("_m") ? "m" : "rad", -3, 3});
  }
  if (order == PlateColumns::kReversed) std::reverse(columns.begin(), columns.end());
  manifest.actions = manifest.states = MotionTable{"", ActionKind::kJointPositions, columns};
  const EncodedRobot encoded = EncodeRobot(robot).value();
  manifest.robot = RobotInfo{robot.name, "", {}, "", ""};
  if (with_folder) {
    manifest.robot->folder = "robot";
    manifest.robot->folder_sha256 = encoded.sha256;
  }
  auto writer = EpisodeWriter::Create(directory, manifest, {.overwrite = true});
  INTERLACER_CHECK(writer.ok(), writer.status().ToString());
  for (const RobotFile& file : encoded.files) {
    if (!with_folder) break;
    const Status status = (*writer)->WriteExtra("robot/" + file.name, file.bytes);
    INTERLACER_CHECK(status.ok(), status.ToString());
  }
  WritePlateFrames(plane, writer->get());
  const NumberTable rows = PlateRows(order);
  INTERLACER_CHECK((*writer)->WriteActions(rows).ok() && (*writer)->WriteStates(rows).ok(),
                   "tables");
  const Status status = (*writer)->Finish();
  INTERLACER_CHECK(status.ok(), status.ToString());
  return directory;
}

}  // namespace interlacer::testing
