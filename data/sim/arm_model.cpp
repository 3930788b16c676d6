#include "data/sim/arm_model.h"

#include <algorithm>
#include <cstdio>
#include <numbers>

namespace interlacer::sim {
namespace {

constexpr double kHalf = std::numbers::sqrt2 / 2;
constexpr std::array<double, 4> kNoTurn = {0, 0, 0, 1};
constexpr std::array<double, 4> kFlip = {0, kHalf, kHalf, 0};  // y up, x reversed
constexpr std::array<double, 4> kQuarterAboutX = {kHalf, 0, 0, kHalf};
constexpr std::array<double, 4> kBackAboutX = {-kHalf, 0, 0, kHalf};

constexpr double kMaxOpeningM = 0.04;

ArmModel MakeKukaIiwa() {
  constexpr double kWideRad = 2.96706, kNarrowRad = 2.0944, kWristRad = 3.05433;
  ArmModel arm;
  arm.name = "kuka";
  arm.robot_name = "kuka_iiwa";
  arm.maker_and_name = "KUKA iiwa";
  arm.mesh_folder = "robots/iiwa/meshes";
  arm.link_mesh_format = "link_%d.stl";
  arm.base_material = "silver";
  arm.links = {{
      {{{0, 0, 0.15}, kNoTurn},
       -kWideRad,
       kWideRad,
       {"0 -0.03 0.12", 3.4525, "0.428904 0.562175 -0.562175 0.428904",
        "0.0218946 0.02183 0.00663837"},
       0.0075,
       {"0 0 0.03 0 0 0.16", 0.072},
       "silver"},
      {{{0, 0, 0.19}, kFlip},
       -kNarrowRad,
       kNarrowRad,
       {"0.0003 0.059 0.042", 3.4821, "0.701371 0.0898824 0.0898824 0.701371",
        "0.02179 0.0217049 0.00684512"},
       0,
       {"0 0.02 0.02 0 0.16 0", 0.068},
       "orange"},
      {{{0, 0.21, 0}, kFlip},
       -kWideRad,
       kWideRad,
       {"0 0.03 0.13", 4.05623, "0.56292 0.427927 -0.427927 0.56292",
        "0.0321488 0.03204 0.00799117"},
       -0.026,
       {"0 0 0.02 0 0 0.17", 0.068},
       "silver"},
      {{{0, 0, 0.19}, kQuarterAboutX},
       -kNarrowRad,
       kNarrowRad,
       {"0 0.067 0.034", 3.4822, "0.991887 -0.127124 0 0", "0.02178 0.0216947 0.00684029"},
       0,
       {"0 0.02 0.02 0 0.16 0", 0.068},
       "orange"},
      {{{0, 0.21, 0}, kFlip},
       -kWideRad,
       kWideRad,
       {"0.0001 0.021 0.076", 2.1633, "0.365352 0.605407 -0.605407 0.365352",
        "0.0131987 0.01287 0.0036293"},
       -0.026,
       {"0 0 0.02 0 0 0.17", 0.062},
       "silver"},
      {{{0, 0.0607, 0.19}, kQuarterAboutX},
       -kNarrowRad,
       kNarrowRad,
       {"0 0.0006 0.0004", 2.3466, "0.996112 0.088097 0 0", "0.006509 0.00631585 0.00447015"},
       0,
       {"0 0 0.02 0 0.06 0.06", 0.058},
       "orange"},
      {{{0, 0.081, 0.0607}, kFlip},
       -kWristRad,
       kWristRad,
       {"0 0 0.02", 3.129, "0.923068 0 0 0.384636", "0.0152362 0.0140538 0.002872"},
       -0.0005,
       {"0 0 -0.02 0 0 0.02", 0.045},
       "silver"},
  }};
  arm.link_7_from_gripper = {{0, 0, 0.044}, kNoTurn};
  arm.gripper = {
      {GripperShape::kCylinder, {0.034, 0.034, 0.010}, {0, 0, 0.010}, "metal", 0.2},
      {GripperShape::kBox, {0.030, 0.062, 0.026}, {0, 0, 0.046}, "rubber", 0.5},
  };
  arm.finger = {{GripperShape::kBox, {0.010, 0.007, 0.040}, {0, 0, -0.040}, "metal", 0.05}};
  arm.finger_length_m = 0.148;
  arm.finger_offset_m = 0.012;
  arm.finger_gap_m = 0.005;
  arm.finger_half_width_m = 0.010;
  arm.max_opening_m = kMaxOpeningM;
  arm.base_distance_m = 0.62;
  arm.min_reach_m = 0.43;
  arm.max_reach_m = 0.75;
  arm.max_hover_reach_m = 0.53;
  arm.rest_rad = {0, 0.55, 0, -1.5, 0, 1.09, 0};
  return arm;
}

ArmModel MakePanda() {
  constexpr double kWideRad = 2.8973;
  const char* const kNoTurnText = "1 0 0 0";
  ArmModel arm;
  arm.name = "panda";
  arm.robot_name = "panda";
  arm.maker_and_name = "Franka Panda";
  arm.mesh_folder = "robots/panda/meshes";
  arm.link_mesh_format = "link%d.stl";
  arm.gripper_meshes = {"hand", "finger"};
  arm.materials = {{"white", "0.92 0.93 0.94 1"}, {"graphite", "0.25 0.25 0.26 1"}};
  arm.base_material = "white";
  arm.links = {{
      {{{0, 0, 0.333}, kNoTurn},
       -kWideRad,
       kWideRad,
       {"0 0 -0.07", 3, kNoTurnText, "0.3 0.3 0.3"},
       0,
       {"0 0 -0.12 0 0 -0.02", 0.060},
       "white"},
      {{{0, 0, 0}, kBackAboutX},
       -1.7628,
       1.7628,
       {"0 -0.1 0", 3, kNoTurnText, "0.3 0.3 0.3"},
       0,
       {"0 -0.03 0 0 -0.13 0.03", 0.060},
       "white"},
      {{{0, -0.316, 0}, kQuarterAboutX},
       -kWideRad,
       kWideRad,
       {"0.04 0 -0.05", 2, kNoTurnText, "0.2 0.2 0.2"},
       0,
       {"0 0 -0.07 0.07 0.04 0", 0.058},
       "white"},
      {{{0.0825, 0, 0}, kQuarterAboutX},
       -3.0718,
       -0.0698,
       {"-0.04 0.05 0", 2, kNoTurnText, "0.2 0.2 0.2"},
       0,
       {"0 0 0.04 -0.08 0.07 0", 0.058},
       "white"},
      {{{-0.0825, 0.384, 0}, kBackAboutX},
       -kWideRad,
       kWideRad,
       {"0 0 -0.15", 2, kNoTurnText, "0.2 0.2 0.2"},
       0,
       {"0 0 -0.20 0 0.05 -0.03", 0.055},
       "white"},
      {{{0, 0, 0}, kQuarterAboutX},
       -0.0175,
       3.7525,
       {"0.06 0 0", 1.5, kNoTurnText, "0.1 0.1 0.1"},
       0,
       {"0 0 0 0.08 0.02 0", 0.050},
       "white"},
      {{{0.088, 0, 0}, kQuarterAboutX},
       -kWideRad,
       kWideRad,
       {"0 0 0.08", 0.5, kNoTurnText, "0.05 0.05 0.05"},
       0,
       {"0 0 0.07 0.04 0.04 0.08", 0.030},
       "graphite"},
  }};
  // The maker turns the hand by -45 degrees; half a turn more makes finger 1 that of +y when the
  // hand points down before the arm, as it is with the other arm.
  arm.link_7_from_gripper = {{0, 0, 0.1065}, {0, 0, 0.9238795325112867, 0.3826834323650898}};
  arm.gripper = {
      {GripperShape::kMesh, {}, {}, "white", 0, "hand", true, false},
      {.shape = GripperShape::kBox,
       .half_size_m = {0.030, 0.100, 0.032},
       .center_m = {0, 0, 0.034},
       .mass_kg = 0.6,
       .visible = false},
  };
  // The file of the finger begins at its carriage, its pad lies in y = 0.
  arm.finger = {
      {GripperShape::kMesh, {}, {0, -0.008, -0.054}, "graphite", 0, "finger", true, false},
      {.shape = GripperShape::kBox,
       .half_size_m = {0.010, 0.006, 0.026},
       .center_m = {0, -0.002, -0.026},
       .mass_kg = 0.05,
       .visible = false},
  };
  arm.finger_length_m = 0.112;
  arm.finger_offset_m = 0.008;
  arm.finger_gap_m = 0;
  arm.finger_half_width_m = 0.010;
  arm.max_opening_m = kMaxOpeningM;
  arm.base_distance_m = 0.62;
  arm.min_reach_m = 0.38;
  arm.max_reach_m = 0.74;
  arm.max_hover_reach_m = 0.50;
  arm.rest_rad = {0, 0.3, 0, -2.0, 0, 2.3, std::numbers::pi / 4};
  return arm;
}

}  // namespace

std::string ArmModel::LinkMeshFile(int link) const {
  char file[64];
  std::snprintf(file, sizeof file, std::string(link_mesh_format).c_str(), link);
  return file;
}

const ArmModel& KukaIiwa() {
  static const ArmModel arm = MakeKukaIiwa();
  return arm;
}

const ArmModel& Panda() {
  static const ArmModel arm = MakePanda();
  return arm;
}

const std::vector<std::string>& ArmModelNames() {
  static const std::vector<std::string> names = {std::string(KukaIiwa().name),
                                                 std::string(Panda().name)};
  return names;
}

StatusOr<const ArmModel*> ParseArmModel(const std::string& name) {
  for (const ArmModel* arm : {&KukaIiwa(), &Panda()}) {
    if (arm->name == name) return arm;
  }
  std::string known;
  for (const std::string& each : ArmModelNames()) known += (known.empty() ? "" : ", ") + each;
  return Mismatch(reason::ARGUMENT_INVALID, "robot", "one of " + known, "'" + name + "'");
}

Transform FingerFromPiece(const GripperPiece& piece, int finger) {
  const Vec3d& center_m = piece.center_m;
  if (finger == 0) return {center_m, kNoTurn};
  return {{-center_m[0], -center_m[1], center_m[2]}, {0, 0, 1, 0}};
}

std::string RobotNameOf(const RobotSetup& setup) {
  return std::string(setup.model->robot_name) + (setup.arm_count == 1 ? "" : "_bimanual");
}

Transform WorldFromBase(const ArmModel& model, int arm) {
  if (arm == 0) return {{-model.base_distance_m, 0, 0}, kNoTurn};
  return {{model.base_distance_m, 0, 0}, {0, 0, 1, 0}};
}

ArmJoints JointsOfArm(const ArmStates& states, int arm) {
  ArmJoints joints;
  std::copy_n(states.begin() + arm * kArmColumns, kJointCount, joints.begin());
  return joints;
}

std::vector<StateColumn> StateColumnsOf(const RobotSetup& setup) {
  const ArmModel& model = *setup.model;
  std::vector<StateColumn> columns;
  for (int arm = 0; arm < setup.arm_count; ++arm) {
    const std::string prefix = std::string(kArmNames[arm]) + "_";
    for (int j = 0; j < kJointCount; ++j) {
      columns.push_back({prefix + "joint_" + std::to_string(j + 1) + "_rad", "rad",
                         model.links[j].min_rad, model.links[j].max_rad});
    }
    columns.push_back({prefix + "gripper_m", "m", 0, model.max_opening_m});
  }
  return columns;
}

}  // namespace interlacer::sim
