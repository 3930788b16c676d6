#include "data/sim/described_robot.h"

#include <algorithm>

#include "robots/make_robot.h"
#include "robots/primitives.h"
#include "robots/robot_draft.h"
#include "robots/surface_sampler.h"

namespace interlacer::sim {
namespace {

constexpr std::uint64_t kSurfaceSeed = 0;
/// What the simulator's arms follow in steps of half a second: they are stiff.
constexpr double kMaxJointSpeedRadPerS = 2.4;
/// A gripper opens in one such step.
constexpr double kGripperS = 0.5;

StatusOr<TriangleStream> MeshSurface(const std::vector<Asset>& meshes, const std::string& file) {
  const auto found = std::find_if(meshes.begin(), meshes.end(),
                                  [&](const Asset& mesh) { return mesh.name == file; });
  if (found == meshes.end()) return NotFound(reason::FILE_NOT_FOUND, "no mesh " + file);
  INTERLACER_ASSIGN_OR_RETURN(auto triangles, ReadStl(found->bytes));
  return TriangleStream([triangles = std::move(triangles)](const TriangleSink& sink) {
    for (const std::array<Vec3f, 3>& corners : triangles) {
      Triangle triangle;
      for (int k = 0; k < 3; ++k) triangle[k] = {corners[k][0], corners[k][1], corners[k][2]};
      sink(triangle);
    }
  });
}

StatusOr<TriangleStream> PieceSurface(const std::vector<Asset>& meshes, const GripperPiece& piece) {
  switch (piece.shape) {
    case GripperShape::kBox:
      return BoxSurface(piece.half_size_m);
    case GripperShape::kCylinder:
      return CylinderSurface(piece.half_size_m[0], piece.half_size_m[2]);
    case GripperShape::kMesh:
      break;
  }
  return MeshSurface(meshes, std::string(piece.mesh) + ".stl");
}

/// Builds the links of one arm, which stands in the world's origin.
class ArmBuilder {
 public:
  ArmBuilder(const ArmModel& model, const std::vector<Asset>& meshes)
      : model_(model), meshes_(meshes) {}

  StatusOr<Robot> Build() {
    robot_.name = model_.robot_name;
    INTERLACER_RETURN_IF_ERROR(AddLinks());
    INTERLACER_RETURN_IF_ERROR(AddGripper());
    return std::move(robot_);
  }

 private:
  Status AddLinks() {
    RobotLink base{.name = "base"};
    INTERLACER_RETURN_IF_ERROR(AddMeshLink(std::move(base), 0, {}));
    for (int j = 0; j < kJointCount; ++j) {
      const ArmLink& link = model_.links[j];
      const std::string number = std::to_string(j + 1);
      RobotLink made{.name = "link_" + number, .parent = j};
      made.joint = {.name = "joint_" + number,
                    .type = JointType::kRevolute,
                    .parent_from_joint = link.parent_from_link,
                    .limits = JointLimits{link.min_rad, link.max_rad},
                    .max_speed = kMaxJointSpeedRadPerS};
      robot_.columns.push_back(j + 1);
      INTERLACER_RETURN_IF_ERROR(
          AddMeshLink(std::move(made), j + 1, {{0, 0, link.mesh_z_m}, {0, 0, 0, 1}}));
    }
    return Status::Ok();
  }

  Status AddMeshLink(RobotLink link, int number, const Transform& link_from_mesh) {
    INTERLACER_ASSIGN_OR_RETURN(TriangleStream surface,
                                MeshSurface(meshes_, model_.LinkMeshFile(number)));
    return AddLink(std::move(link), {Moved(std::move(surface), link_from_mesh)});
  }

  Status AddGripper() {
    RobotLink gripper{.name = "gripper", .parent = kJointCount, .part = LinkPart::kGripper};
    gripper.joint.parent_from_joint = model_.link_7_from_gripper;
    std::vector<TriangleStream> surfaces;
    for (const GripperPiece& piece : model_.gripper) {
      if (!piece.visible) continue;
      INTERLACER_ASSIGN_OR_RETURN(TriangleStream surface, PieceSurface(meshes_, piece));
      surfaces.push_back(Moved(std::move(surface), {piece.center_m, {0, 0, 0, 1}}));
    }
    INTERLACER_RETURN_IF_ERROR(AddLink(std::move(gripper), surfaces));
    for (int finger = 0; finger < 2; ++finger) INTERLACER_RETURN_IF_ERROR(AddFinger(finger));
    return Status::Ok();
  }

  Status AddFinger(int finger) {
    const double side = finger == 0 ? 1 : -1;
    RobotLink link{.name = "finger_" + std::to_string(finger + 1),
                   .parent = kJointCount + 1,
                   .part = LinkPart::kFinger};
    // The opening of the gripper is the joint of finger 1.
    link.joint = {.name = finger == 0 ? "gripper" : "finger_2",
                  .type = JointType::kPrismatic,
                  .parent_from_joint = {{0, side * model_.finger_offset_m, model_.finger_length_m},
                                        {0, 0, 0, 1}},
                  .axis = {0, side, 0},
                  .limits = JointLimits{0, model_.max_opening_m},
                  .max_speed = model_.max_opening_m / kGripperS};
    if (finger == 0) {
      robot_.columns.push_back(static_cast<int>(robot_.links.size()));
    } else {
      link.joint.mimic = JointMimic{kJointCount + 2};
    }
    std::vector<TriangleStream> surfaces;
    for (const GripperPiece& piece : model_.finger) {
      if (!piece.visible) continue;
      INTERLACER_ASSIGN_OR_RETURN(TriangleStream surface, PieceSurface(meshes_, piece));
      surfaces.push_back(Moved(std::move(surface), FingerFromPiece(piece, finger)));
    }
    return AddLink(std::move(link), surfaces);
  }

  Status AddLink(RobotLink link, const std::vector<TriangleStream>& surfaces) {
    const auto index = static_cast<int>(robot_.links.size());
    SurfaceSampler sampler(kSurfacePointsPerLink, kSurfaceSeed, static_cast<std::uint32_t>(index));
    for (const TriangleStream& surface : surfaces) {
      if (sampler.Add(surface)) continue;
      return Mismatch(reason::SCHEMA_INVALID, "link '" + link.name + "'", "a surface with an area",
                      "none");
    }
    robot_.links.push_back(std::move(link));
    AddSurface(sampler, index, &robot_);
    return Status::Ok();
  }

  const ArmModel& model_;
  const std::vector<Asset>& meshes_;
  Robot robot_;
};

}  // namespace

StatusOr<Robot> DescribeRobot(const RobotSetup& setup, const std::vector<Asset>& meshes) {
  INTERLACER_ASSIGN_OR_RETURN(const Robot arm, ArmBuilder(*setup.model, meshes).Build());
  std::vector<Robot> arms(setup.arm_count, arm);
  std::vector<std::string> prefixes;
  for (int a = 0; a < setup.arm_count; ++a) {
    arms[a].links[0].joint.parent_from_joint = WorldFromBase(*setup.model, a);
    prefixes.push_back(std::string(kArmNames[a]) + "_");
  }
  INTERLACER_ASSIGN_OR_RETURN(Robot robot, JoinRobots(RobotNameOf(setup), arms, prefixes));
  robot.source = std::to_string(setup.arm_count) + " x " +
                 std::string(setup.model->maker_and_name) +
                 " as interlacer simulate draws it; meshes: robosuite 1.5.2, MIT licence; " +
                 std::to_string(kSurfacePointsPerLink) + " points a link, seed " +
                 std::to_string(kSurfaceSeed);
  return robot;
}

}  // namespace interlacer::sim
