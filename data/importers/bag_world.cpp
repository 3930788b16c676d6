#include "data/importers/bag_world.h"

#include <numbers>

#include "common/number_text.h"
#include "common/transforms.h"
#include "data/pose_spread.h"

namespace interlacer {
namespace {

/// Of the robot's base in tf and in its folder.
constexpr double kMaxBaseOffsetM = 0.005;
constexpr double kMaxBaseTurnRad = 0.5 * std::numbers::pi / 180;

}  // namespace

bool IsPlaced(const BagCamera& camera) {
  return camera.calibration && (camera.calibration->has_pose || !camera.calibration->link.empty());
}

Status CheckWorldFrame(const BagIndex& bag, const BagCameras& found, const std::string& world) {
  const FrameTree& frames = bag.frames();
  std::string roots;
  for (const std::string& root : frames.Roots()) roots += (roots.empty() ? "" : ", ") + root;
  const std::string& camera_frame = found.cameras.front().color->frame_id;
  const std::string expected =
      roots.empty() ? "a frame; the recording has no transforms, with a single camera its own "
                      "frame can be the world: " +
                          camera_frame
                    : "a frame of the recording's transforms, such as their root: " + roots;
  if (world.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--world-frame", expected, "none");
  }
  for (const BagCamera& camera : found.cameras) {
    if (camera.color->frame_id == world || IsPlaced(camera)) continue;
    const Status way = frames.CheckWay(camera.color->frame_id, world);
    if (way.ok()) continue;
    return Mismatch(reason::ARGUMENT_INVALID, "--world-frame", expected,
                    world + ": " + way.message());
  }
  return Status::Ok();
}

Status CheckBase(const BagIndex& bag, const Robot& robot, const std::string& world,
                 std::int64_t time_ns) {
  const RobotLink& root = robot.links.front();
  if (root.name == world || !bag.frames().Has(root.name)) return Status::Ok();
  const auto world_from_root = bag.frames().At(world, root.name, time_ns, kMaxBagGapNs);
  if (!world_from_root.ok()) return Status::Ok();  // another tree: it says nothing of this one
  const Transform& folder = root.joint.parent_from_joint;
  const double offset_m = DistanceM(folder.translation_m, world_from_root->translation_m);
  const double turn_rad = TurnRad(folder, *world_from_root);
  if (offset_m <= kMaxBaseOffsetM && turn_rad <= kMaxBaseTurnRad) return Status::Ok();
  const auto& t = world_from_root->translation_m;
  const auto& q = world_from_root->rotation_xyzw;
  std::string pose;
  for (const double value : {t[0], t[1], t[2], q[0], q[1], q[2], q[3]}) {
    pose += (pose.empty() ? "" : ",") + NumberText(value);
  }
  return Mismatch(reason::CALIBRATION_INVALID, "--robot",
                  "a robot whose " + root.name + " stands in " + world +
                      " where the transforms say: x,y,z,qx,qy,qz,qw " + pose +
                      "; make the folder with that pose, or name its frame as --world-frame",
                  NumberText(offset_m) + " m and " + NumberText(turn_rad) + " rad away");
}

}  // namespace interlacer
