#pragma once

/// The arms that can stand at the simulated table, and how they stand there.
///
/// An ArmModel is one table of numbers from which kinematics, MuJoCo model and robot folder are all
/// made, so that they cannot disagree. Every arm has seven joints that turn about the z axes of
/// their links, and a gripper whose two fingers slide along its y axis. Metres, radians, kilograms.
/// Thread-safety: constants and pure functions.
/// Source: robosuite (link frames, joint limits, meshes of iiwa and Panda).

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"

namespace interlacer::sim {

inline constexpr int kMaxArmCount = 2;
inline constexpr int kJointCount = 7;                ///< revolute joints of one arm
inline constexpr int kArmColumns = kJointCount + 1;  ///< joints and gripper opening
inline constexpr std::array<std::string_view, kMaxArmCount> kArmNames = {"left", "right"};

using ArmJoints = std::array<double, kJointCount>;

/// Mass and inertia of a link about its centre, numbers as MJCF writes them.
struct LinkInertia {
  const char* position;
  double mass_kg;
  const char* quaternion_wxyz;
  const char* diagonal;
};

/// Stands for a link in contacts.
struct LinkCapsule {
  const char* from_to;  ///< two points in the frame of the link, as MJCF writes them
  double radius_m;
};

struct ArmLink {
  Transform parent_from_link;  ///< at joint angle 0
  double min_rad;
  double max_rad;
  LinkInertia inertia;
  double mesh_z_m;  ///< where the mesh lies in the frame of the link
  LinkCapsule capsule;
  const char* material;
};

enum class GripperShape { kBox, kCylinder, kMesh };

/// A piece of a gripper or finger. Finger 1 is finger 0 turned by half a turn about z.
struct GripperPiece {
  GripperShape shape = GripperShape::kBox;
  Vec3d half_size_m{};  ///< cylinder: radius, radius, half height; nothing of a mesh
  Vec3d center_m{};
  const char* material = "metal";
  double mass_kg = 0;
  const char* mesh = "";  ///< of ArmModel::gripper_meshes
  bool visible = true;    ///< false: touched but never seen
  bool solid = true;      ///< false: seen but never touched
};

struct ArmModel {
  std::string_view name;            ///< "kuka", as on the command line
  std::string_view robot_name;      ///< "kuka_iiwa"
  std::string_view maker_and_name;  ///< for people
  std::string_view mesh_folder;     ///< in the asset folder
  std::string_view link_mesh_format;
  std::vector<std::string_view> gripper_meshes;  ///< "hand" for the file hand.stl
  std::vector<std::pair<std::string_view, std::string_view>> materials;  ///< name, rgba
  const char* base_material;
  std::array<ArmLink, kJointCount> links;
  Transform link_7_from_gripper;
  std::vector<GripperPiece> gripper;  ///< in the frame of the gripper
  std::vector<GripperPiece> finger;   ///< in the frame of finger 0, whose origin is its tip
  double finger_length_m;             ///< gripper base to finger tip along z
  double finger_offset_m;             ///< tip i lies at y = +-(offset + opening)
  double finger_gap_m;                ///< inner face of a finger to the middle plane when closed
  double finger_half_width_m;         ///< along x
  double max_opening_m;               ///< of each finger from where it is closed
  double base_distance_m;             ///< of each arm's axis from the middle of the table
  double min_reach_m;                 ///< from its axis an arm works between these, pointing down
  double max_reach_m;
  double max_hover_reach_m;
  ArmJoints rest_rad;  ///< from here the solver finds every pose above the arm's half of the table

  /// Middle between the finger tips, in the frame of the gripper.
  Vec3d tool_point_m() const { return {0, 0, finger_length_m}; }
  /// File of a link's mesh, 0 the base.
  std::string LinkMeshFile(int link) const;
};

const ArmModel& KukaIiwa();
const ArmModel& Panda();

/// Where a piece lies in the frame of finger 0 or 1.
Transform FingerFromPiece(const GripperPiece& piece, int finger);

/// One or two arms of one kind. One arm is the left one.
struct RobotSetup {
  const ArmModel* model = &KukaIiwa();
  int arm_count = kMaxArmCount;
  int column_count() const { return arm_count * kArmColumns; }
};

/// "kuka", "panda".
const std::vector<std::string>& ArmModelNames();
/// INVALID_ARGUMENT ARGUMENT_INVALID for a name that is not among them.
StatusOr<const ArmModel*> ParseArmModel(const std::string& name);

/// "kuka_iiwa_bimanual", "panda".
std::string RobotNameOf(const RobotSetup& setup);

/// World frame (data/sim/robot.h) from the base of an arm: left and right look at each other.
Transform WorldFromBase(const ArmModel& model, int arm);

/// Joint angles and gripper opening of every arm, one after the other.
using ArmStates = std::vector<double>;
ArmJoints JointsOfArm(const ArmStates& states, int arm);

/// One column of a robot state: "left_joint_1_rad" ... "right_gripper_m".
struct StateColumn {
  std::string name;
  std::string unit;  ///< "rad" or "m"
  double min;
  double max;
};
std::vector<StateColumn> StateColumnsOf(const RobotSetup& setup);

}  // namespace interlacer::sim
