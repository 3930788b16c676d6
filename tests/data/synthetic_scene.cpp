#include "tests/data/synthetic_scene.h"

#include <cmath>
#include <limits>

#include "common/check.h"
#include "common/transforms.h"
#include "data/episode_writer.h"

namespace interlacer {
namespace {

constexpr double kHalfWidthM = 0.1, kHeightM = 0.15, kTableHalfM = 0.7;

/// Distance along the ray to an axis-aligned box, infinite if it is missed.
double HitBox(const Vec3d& origin, const Vec3d& direction, const Box& box) {
  double enter = 0, leave = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis) {
    double a = (box.min_m[axis] - origin[axis]) / direction[axis];
    double b = (box.max_m[axis] - origin[axis]) / direction[axis];
    if (a > b) std::swap(a, b);
    enter = std::max(enter, a);
    leave = std::min(leave, b);
  }
  return enter <= leave ? enter : std::numeric_limits<double>::infinity();
}

}  // namespace

Camera SyntheticCamera(bool left, int width_px, int height_px) {
  Camera camera;
  camera.width_px = width_px;
  camera.height_px = height_px;
  camera.fx_px = camera.fy_px = 0.9 * width_px;
  camera.cx_px = 0.5 * width_px - 0.5;
  camera.cy_px = 0.5 * height_px - 0.5;
  camera.world_from_camera =
      left ? LookAt({0.7, 0.6, 0.9}, {0, 0, 0.05}) : LookAt({0.5, -0.7, 0.7}, {0.1, 0, 0.05});
  return camera;
}

RgbdView SyntheticView(const Camera& camera, double block_x_m) {
  RgbdView view;
  view.camera = camera;
  view.color = {camera.width_px, camera.height_px, {}};
  view.depth = {camera.width_px, camera.height_px, {}};
  const Box table{{-kTableHalfM, -kTableHalfM, -0.02}, {kTableHalfM, kTableHalfM, 0}};
  const Box block{{block_x_m - kHalfWidthM, -kHalfWidthM, 0},
                  {block_x_m + kHalfWidthM, kHalfWidthM, kHeightM}};
  const Vec3d origin = camera.world_from_camera.translation_m;
  for (int v = 0; v < camera.height_px; ++v) {
    for (int u = 0; u < camera.width_px; ++u) {
      const Vec3d at_one_m = Unproject(camera, u, v, 1);
      Vec3d direction;  // z along the axis is 1, so the distance is the depth
      for (int axis = 0; axis < 3; ++axis) direction[axis] = at_one_m[axis] - origin[axis];
      const double to_table = HitBox(origin, direction, table);
      const double to_block = HitBox(origin, direction, block);
      const double depth_m = std::min(to_table, to_block);
      view.depth.pixels_m.push_back(std::isfinite(depth_m)
                                        ? static_cast<float>(depth_m)
                                        : std::numeric_limits<float>::quiet_NaN());
      const bool is_block = to_block < to_table;
      for (int c = 0; c < 3; ++c) {
        view.color.pixels.push_back(is_block ? (c == 1 ? 200 : 40) : (150 + 10 * c));
      }
    }
  }
  return view;
}

DepthImage16 ToIntegers(const DepthImage& depth) {
  DepthImage16 result{depth.width_px, depth.height_px, kSyntheticDepthUnitM, {}};
  for (float depth_m : depth.pixels_m) {
    result.pixels.push_back(std::isnan(depth_m) ? 0
                                                : static_cast<std::uint16_t>(
                                                      std::lround(depth_m / kSyntheticDepthUnitM)));
  }
  return result;
}

EpisodeManifest SyntheticManifest() {
  EpisodeManifest manifest;
  manifest.episode_id = "synthetic_000001";
  manifest.kind = EpisodeKind::kManipulation;
  manifest.created_time = "2026-01-01T00:00:00Z";
  manifest.source = {"simulate", "test", "test", 1, "none", "", {}};
  manifest.task_name = "push";
  manifest.step_count = kSyntheticStepCount;
  manifest.world_frame_name = "table_center";
  manifest.workspace = kSyntheticWorkspace;
  for (const char* name : {"left", "right"}) {
    EpisodeCamera item;
    item.name = name;
    item.camera = SyntheticCamera(std::string(name) == "left");
    item.depth_unit_m = kSyntheticDepthUnitM;
    manifest.cameras.push_back(item);
  }
  const std::vector<TableColumn> columns = {{"joint_1_rad", "rad", -3, 3}, {"grip_m", "m", 0, 1}};
  manifest.actions = MotionTable{"", ActionKind::kJointPositions, columns};
  manifest.states = MotionTable{"", ActionKind::kJointPositions, columns};
  return manifest;
}

void WriteSyntheticEpisode(const std::string& episode_dir) {
  auto writer = EpisodeWriter::Create(episode_dir, SyntheticManifest());
  INTERLACER_CHECK(writer.ok(), writer.status().ToString());
  NumberTable actions{kSyntheticStepCount, 2, {}}, states = actions;
  for (int step = 0; step < kSyntheticStepCount; ++step) {
    for (int camera = 0; camera < 2; ++camera) {
      const RgbdView view = SyntheticView(SyntheticCamera(camera == 0), 0.02 * step);
      const Status status = (*writer)->WriteFrame(step, camera, view.color, ToIntegers(view.depth));
      INTERLACER_CHECK(status.ok(), status.ToString());
    }
    actions.values.insert(actions.values.end(), {0.1 * (step + 1), 0.5});
    states.values.insert(states.values.end(), {0.1 * step, 0.4});
  }
  INTERLACER_CHECK((*writer)->WriteActions(actions).ok() && (*writer)->WriteStates(states).ok(),
                   "tables");
  const Status status = (*writer)->Finish();
  INTERLACER_CHECK(status.ok(), status.ToString());
}

}  // namespace interlacer
