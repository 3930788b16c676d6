#include "data/sim/mjcf.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace interlacer::sim {
namespace {

constexpr double kTableHalfThickness = 0.02;
constexpr double kFloorZ = -0.74;
constexpr double kRoomHalfX = 2.2;
constexpr double kRoomBackY = 1.9;
constexpr double kRoomFrontY = -2.2;
constexpr double kRoomTopZ = 2.4;
constexpr double kLampDistanceM = 2.0;

// Contact classes: bit 0 the room and free objects, bit 1 left arm, bit 2 right arm, bit 3 tools in
// a gripper, bit 4 feet of cylinders, which touch the table alone. An arm touches everything but
// itself and its tool.
constexpr int kWorldClass = 1;
constexpr int ArmClass(int arm) { return 2 << arm; }
constexpr int kEveryClass = 7;
constexpr int kToolClass = 8;
constexpr int kFootClass = 16;
constexpr char kObjectFriction[] = "friction=\"0.6 0.005 0.0001\"";
constexpr double kFootHalfOfRadius = 0.7;  // the corners of the square stay inside the circle

class Text {
 public:
  template <typename... Args>
  void Line(const char* format, Args... args) {
    char buffer[512];
    std::snprintf(buffer, sizeof buffer, format, args...);
    text_ += buffer;
    text_ += '\n';
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

/// "w x y z", the order of MJCF, with the translation before it.
std::string PoseAttributes(const Transform& parent_from_child) {
  const Vec3d& t = parent_from_child.translation_m;
  const std::array<double, 4>& q = parent_from_child.rotation_xyzw;
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, "pos=\"%.9g %.9g %.9g\" quat=\"%.9g %.9g %.9g %.9g\"", t[0],
                t[1], t[2], q[3], q[0], q[1], q[2]);
  return buffer;
}

void WriteAssets(const Scene& scene, Text& out) {
  out.Line("<asset>");
  const ArmModel& model = *scene.robot.model;
  for (int link = 0; link <= kJointCount; ++link) {
    const std::string file = model.LinkMeshFile(link);
    out.Line("<mesh name=\"link_%d\" file=\"%s\"/>", link, file.c_str());
  }
  for (const std::string_view mesh : model.gripper_meshes) {
    const std::string name(mesh);
    out.Line("<mesh name=\"%s\" file=\"%s.stl\"/>", name.c_str(), name.c_str());
  }
  out.Line("<texture name=\"table\" type=\"2d\" file=\"%s\"/>", scene.table_texture.c_str());
  out.Line("<texture name=\"floor\" type=\"2d\" file=\"%s\"/>", scene.floor_texture.c_str());
  const Rgb& tint = scene.table_tint;
  out.Line(
      "<material name=\"table\" texture=\"table\" texrepeat=\"1 1\" rgba=\"%.4f %.4f %.4f 1\" "
      "specular=\"0.15\" shininess=\"0.3\"/>",
      tint[0], tint[1], tint[2]);
  out.Line(
      "<material name=\"floor\" texture=\"floor\" texrepeat=\"2 2\" texuniform=\"true\" "
      "specular=\"0\"/>");
  out.Line("<material name=\"wall\" rgba=\"%.4f %.4f %.4f 1\" specular=\"0\"/>",
           scene.wall_color[0], scene.wall_color[1], scene.wall_color[2]);
  out.Line(
      "<material name=\"metal\" rgba=\"0.36 0.37 0.39 1\" specular=\"0.4\" shininess=\"0.5\"/>");
  out.Line(
      "<material name=\"silver\" rgba=\"0.78 0.79 0.80 1\" specular=\"0.5\" shininess=\"0.5\"/>");
  out.Line("<material name=\"orange\" rgba=\"1 0.42 0.04 1\" specular=\"0.5\" shininess=\"0.5\"/>");
  out.Line("<material name=\"rubber\" rgba=\"0.10 0.10 0.11 1\" specular=\"0.1\"/>");
  for (const auto& [name, rgba] : model.materials) {
    out.Line("<material name=\"%s\" rgba=\"%s\" specular=\"0.4\" shininess=\"0.5\"/>",
             std::string(name).c_str(), std::string(rgba).c_str());
  }
  out.Line("</asset>");
}

void WriteRoom(const Scene& scene, Text& out) {
  const SceneLight& light = scene.light;
  out.Line(
      "<light directional=\"true\" pos=\"%.5f %.5f %.5f\" dir=\"%.5f %.5f %.5f\" "
      "diffuse=\"%.4f %.4f %.4f\" ambient=\"0.1 0.1 0.1\" specular=\"0.3 0.3 0.3\" "
      "castshadow=\"true\"/>",
      -kLampDistanceM * light.direction[0], -kLampDistanceM * light.direction[1],
      -kLampDistanceM * light.direction[2], light.direction[0], light.direction[1],
      light.direction[2], light.diffuse[0], light.diffuse[1], light.diffuse[2]);
  for (const SceneCamera& named : scene.cameras) {
    const Camera& camera = named.camera;
    const double fovy_deg =
        2 * std::atan(camera.height_px / 2.0 / camera.fy_px) * 180 / std::numbers::pi;
    // MuJoCo's cameras look along -z with y up: half a turn about x from the optical frame.
    const std::array<double, 4>& q = camera.world_from_camera.rotation_xyzw;
    const Transform world_from_gl = {camera.world_from_camera.translation_m,
                                     {q[3], q[2], -q[1], -q[0]}};
    out.Line("<camera name=\"%s\" fovy=\"%.9g\" %s/>", named.name.c_str(), fovy_deg,
             PoseAttributes(world_from_gl).c_str());
  }
  const char* untouched = "contype=\"0\" conaffinity=\"0\"";
  out.Line(
      "<geom name=\"%s\" type=\"box\" size=\"%.3f %.3f %.3f\" pos=\"0 0 %.3f\" "
      "material=\"table\" %s/>",
      kTableGeomName, kTableHalfX, kTableHalfY, kTableHalfThickness, -kTableHalfThickness,
      untouched);
  // Contacts are with a plane in the table top, on which cylinders rest without rocking.
  out.Line(
      "<geom type=\"plane\" size=\"1 1 0.1\" group=\"3\" contype=\"%d\" conaffinity=\"%d\" %s/>",
      kWorldClass, kEveryClass | kFootClass, kObjectFriction);
  const double leg_top_z = -2 * kTableHalfThickness;
  const double leg_half = (leg_top_z - kFloorZ) / 2;
  for (const double x : {-0.68, 0.68}) {
    for (const double y : {-0.45, 0.45}) {
      out.Line(
          "<geom type=\"box\" size=\"0.03 0.03 %.4f\" pos=\"%.3f %.3f %.4f\" "
          "material=\"metal\" %s/>",
          leg_half, x, y, kFloorZ + leg_half, untouched);
    }
  }
  out.Line("<geom type=\"plane\" size=\"4 4 0.1\" pos=\"0 0 %.3f\" material=\"floor\" %s/>",
           kFloorZ, untouched);
  const double wall_half_z = (kRoomTopZ - kFloorZ) / 2;
  const double wall_z = kFloorZ + wall_half_z;
  const double wall_y = (kRoomBackY + kRoomFrontY) / 2;
  const double wall_half_y = (kRoomBackY - kRoomFrontY) / 2;
  out.Line("<geom type=\"box\" size=\"%.3f 0.05 %.3f\" pos=\"0 %.3f %.3f\" material=\"wall\" %s/>",
           kRoomHalfX, wall_half_z, kRoomBackY + 0.05, wall_z, untouched);
  for (const double side : {-1.0, 1.0}) {
    out.Line(
        "<geom type=\"box\" size=\"0.05 %.3f %.3f\" pos=\"%.3f %.3f %.3f\" material=\"wall\" %s/>",
        wall_half_y, wall_half_z, side * (kRoomHalfX + 0.05), wall_y, wall_z, untouched);
  }
}

/// "box" with half sizes, "cylinder" with radius and half height.
std::string ShapeAttributes(ObjectShape shape, const Vec3d& half_m) {
  char buffer[128];
  if (shape == ObjectShape::kBox) {
    std::snprintf(buffer, sizeof buffer, "type=\"box\" size=\"%.5f %.5f %.5f\"", half_m[0],
                  half_m[1], half_m[2]);
  } else {
    std::snprintf(buffer, sizeof buffer, "type=\"cylinder\" size=\"%.5f %.5f\"", half_m[0],
                  half_m[2]);
  }
  return buffer;
}

/// Contact attributes of an object: what it may touch, with which friction.
std::string ContactAttributes(const Scene& scene, const SceneObject& object) {
  const bool has_tools =
      std::any_of(scene.objects.begin(), scene.objects.end(),
                  [](const SceneObject& other) { return other.holder_arm.has_value(); });
  char buffer[160];
  if (object.holder_arm) {
    // A tool glides over the table; the other arm and its tool must keep off.
    const int touched = kToolClass | ArmClass(1 - *object.holder_arm);
    std::snprintf(buffer, sizeof buffer,
                  "contype=\"%d\" conaffinity=\"%d\" friction=\"0.4 0.005 0.0001\"", kToolClass,
                  touched);
  } else if (object.rolling_friction_m > 0) {
    std::snprintf(buffer, sizeof buffer,
                  "contype=\"%d\" conaffinity=\"%d\" friction=\"0.6 0.005 %.5f\" condim=\"6\"",
                  kWorldClass, has_tools ? kEveryClass | kToolClass : kEveryClass,
                  object.rolling_friction_m);
  } else {
    std::snprintf(buffer, sizeof buffer, "contype=\"%d\" conaffinity=\"%d\" %s", kWorldClass,
                  has_tools ? kEveryClass | kToolClass : kEveryClass, kObjectFriction);
  }
  return buffer;
}

/// A box inside a cylinder. MuJoCo's contact of a cylinder with a plane vanishes for some steps
/// when the axis is exactly upright, and the cylinder falls through; that of a box does not.
void WriteFoot(const Vec3d& half_m, Text& out) {
  const double half_side_m = kFootHalfOfRadius * half_m[0];
  out.Line("<geom %s group=\"3\" mass=\"0\" contype=\"%d\" conaffinity=\"0\" %s/>",
           ShapeAttributes(ObjectShape::kBox, {half_side_m, half_side_m, half_m[2]}).c_str(),
           kFootClass, kObjectFriction);
}

/// The geoms of an object, inside its body.
void WriteShapes(const Scene& scene, const SceneObject& object, Text& out) {
  const std::string contact = ContactAttributes(scene, object);
  const Rgb& color = object.color;
  out.Line("<geom %s rgba=\"%.4f %.4f %.4f 1\" mass=\"%.4f\" %s/>",
           ShapeAttributes(object.shape, object.half_size_m).c_str(), color[0], color[1], color[2],
           object.mass_kg, contact.c_str());
  for (const ObjectPart& part : object.parts) {
    out.Line("<geom %s %s rgba=\"%.4f %.4f %.4f 1\" mass=\"%.4f\" %s%s/>",
             ShapeAttributes(part.shape, part.half_size_m).c_str(),
             PoseAttributes(part.object_from_part).c_str(), part.color[0], part.color[1],
             part.color[2], part.mass_kg,
             part.solid ? contact.c_str() : "contype=\"0\" conaffinity=\"0\"",
             part.visible ? "" : " group=\"3\"");
  }
}

void WriteFreeObject(const Scene& scene, const SceneObject& object, Text& out) {
  out.Line("<body name=\"%s\" %s>", object.name.c_str(),
           PoseAttributes(object.world_from_object).c_str());
  out.Line("<freejoint/>");
  WriteShapes(scene, object, out);
  if (object.shape == ObjectShape::kCylinder) WriteFoot(object.half_size_m, out);
  out.Line("</body>");
}

void WriteToolOf(int arm, const Scene& scene, Text& out) {
  for (const SceneObject& object : scene.objects) {
    if (object.holder_arm != arm) continue;
    out.Line("<body name=\"%s\" %s gravcomp=\"1\">", object.name.c_str(),
             PoseAttributes(object.gripper_from_object).c_str());
    WriteShapes(scene, object, out);
    out.Line("</body>");
  }
}

/// "0 0 -0.040".
std::string Numbers(std::initializer_list<double> values) {
  std::string text;
  for (const double value : values) {
    char number[32] = "0";
    if (value != 0) std::snprintf(number, sizeof number, "%.3f", value);
    text += (text.empty() ? "" : " ") + std::string(number);
  }
  return text;
}

/// "type=... size=... pos=...".
std::string PieceAttributes(const GripperPiece& piece, const Transform& body_from_piece) {
  const Vec3d& half_m = piece.half_size_m;
  std::string text;
  switch (piece.shape) {
    case GripperShape::kBox:
      text = "type=\"box\" size=\"" + Numbers({half_m[0], half_m[1], half_m[2]}) + "\"";
      break;
    case GripperShape::kCylinder:
      text = "type=\"cylinder\" size=\"" + Numbers({half_m[0], half_m[2]}) + "\"";
      break;
    case GripperShape::kMesh:
      text = "type=\"mesh\" mesh=\"" + std::string(piece.mesh) + "\"";
  }
  const Vec3d& center_m = body_from_piece.translation_m;
  text += " pos=\"" + Numbers({center_m[0], center_m[1], center_m[2]}) + "\"";
  // The other shapes look the same after half a turn.
  const bool is_turned_mesh =
      piece.shape == GripperShape::kMesh && body_from_piece.rotation_xyzw[2] == 1;
  return text + (is_turned_mesh ? " quat=\"0 0 0 1\"" : "");
}

/// `more` are further attributes of pieces that touch things.
void WritePiece(const GripperPiece& piece, const Transform& body_from_piece, const char* more,
                const std::string& arm, Text& out) {
  std::string text = PieceAttributes(piece, body_from_piece);
  text += " material=\"" + std::string(piece.material) + "\"";
  if (!piece.visible) text += " group=\"3\"";
  if (piece.solid) {
    out.Line("<geom %s mass=\"%g\"%s class=\"%sarm\"/>", text.c_str(), piece.mass_kg, more,
             arm.c_str());
  } else {
    out.Line("<geom %s mass=\"0\" contype=\"0\" conaffinity=\"0\"/>", text.c_str());
  }
}

void WriteFinger(int arm, int finger, const ArmModel& model, Text& out) {
  const double side = finger == 0 ? 1 : -1;
  const std::string body = FingerBodyName(arm, finger);
  out.Line("<body name=\"%s\" pos=\"0 %.5f %.5f\" gravcomp=\"1\">", body.c_str(),
           side * model.finger_offset_m, model.finger_length_m);
  out.Line(
      "<joint name=\"%s\" type=\"slide\" axis=\"0 %.0f 0\" range=\"0 %.3f\" armature=\"0.1\" "
      "damping=\"1\"/>",
      body.c_str(), side, model.max_opening_m);
  for (const GripperPiece& piece : model.finger) {
    WritePiece(piece, FingerFromPiece(piece, finger), " friction=\"0.9 0.01 0.0001\"",
               ArmBodyPrefix(arm), out);
  }
  out.Line("</body>");
}

void WriteGripper(int arm, const Scene& scene, Text& out) {
  const ArmModel& model = *scene.robot.model;
  const std::string prefix = ArmBodyPrefix(arm);
  out.Line("<body name=\"%sgripper\" %s gravcomp=\"1\">", prefix.c_str(),
           PoseAttributes(model.link_7_from_gripper).c_str());
  for (const GripperPiece& piece : model.gripper) {
    WritePiece(piece, {piece.center_m}, "", prefix, out);
  }
  for (int finger = 0; finger < 2; ++finger) WriteFinger(arm, finger, model, out);
  WriteToolOf(arm, scene, out);
  out.Line("</body>");
}

void WriteArm(int arm, const Scene& scene, Text& out) {
  const ArmModel& model = *scene.robot.model;
  const std::string prefix = ArmBodyPrefix(arm);
  const char* name = prefix.c_str();
  out.Line("<body name=\"%sbase\" %s childclass=\"%sarm\">", name,
           PoseAttributes(WorldFromBase(model, arm)).c_str(), name);
  out.Line("<geom type=\"mesh\" mesh=\"link_0\" material=\"%s\" contype=\"0\" conaffinity=\"0\"/>",
           model.base_material);
  for (int j = 0; j < kJointCount; ++j) {
    const ArmLink& link = model.links[j];
    out.Line("<body name=\"%slink_%d\" %s gravcomp=\"1\">", name, j + 1,
             PoseAttributes(link.parent_from_link).c_str());
    out.Line("<inertial pos=\"%s\" quat=\"%s\" mass=\"%.6g\" diaginertia=\"%s\"/>",
             link.inertia.position, link.inertia.quaternion_wxyz, link.inertia.mass_kg,
             link.inertia.diagonal);
    out.Line(
        "<joint name=\"%sjoint_%d\" axis=\"0 0 1\" range=\"%.6f %.6f\" armature=\"0.3\" "
        "damping=\"1\"/>",
        name, j + 1, link.min_rad, link.max_rad);
    out.Line(
        "<geom type=\"mesh\" mesh=\"link_%d\" pos=\"0 0 %.4f\" material=\"%s\" contype=\"0\" "
        "conaffinity=\"0\" mass=\"0\"/>",
        j + 1, link.mesh_z_m, link.material);
    out.Line("<geom type=\"capsule\" fromto=\"%s\" size=\"%.3f\" group=\"3\" mass=\"0\"/>",
             link.capsule.from_to, link.capsule.radius_m);
  }
  WriteGripper(arm, scene, out);
  for (int j = 0; j <= kJointCount; ++j) out.Line("</body>");
}

void WriteActuators(const Scene& scene, Text& out) {
  out.Line("<actuator>");
  for (int arm = 0; arm < scene.robot.arm_count; ++arm) {
    const std::string prefix = ArmBodyPrefix(arm);
    for (int j = 0; j < kJointCount; ++j) {
      out.Line("<position joint=\"%sjoint_%d\" kp=\"%.0f\" kv=\"%.0f\"/>", prefix.c_str(), j + 1,
               kJointStiffness, kJointDamping);
    }
    for (int finger = 0; finger < 2; ++finger) {
      out.Line("<position joint=\"%s\" kp=\"%.0f\" kv=\"%.0f\" forcerange=\"-40 40\"/>",
               FingerBodyName(arm, finger).c_str(), kFingerStiffness, kFingerDamping);
    }
  }
  out.Line("</actuator>");
}

}  // namespace

std::string ArmBodyPrefix(int arm) { return std::string(kArmNames[arm]) + "/"; }

std::string FingerBodyName(int arm, int finger) {
  return ArmBodyPrefix(arm) + "finger_" + std::to_string(finger + 1);
}

std::string ComposeMjcf(const Scene& scene) {
  Text out;
  out.Line("<mujoco model=\"%s%s\">", scene.robot.arm_count == 1 ? "" : "two_",
           std::string(scene.robot.model->robot_name).c_str());
  out.Line("<compiler angle=\"radian\" autolimits=\"true\"/>");
  // Elliptic cones with stiff friction keep what two fingers hold from creeping out of them.
  out.Line("<option timestep=\"%.4f\" integrator=\"implicitfast\"%s/>", kPhysicsStepS,
           scene.has_grasps ? " cone=\"elliptic\" impratio=\"10\"" : "");
  out.Line("<statistic extent=\"1\" center=\"0 0 0.3\"/>");
  out.Line(
      "<visual><map znear=\"0.05\" zfar=\"10\" shadowclip=\"1.1\"/>"
      "<quality shadowsize=\"512\" offsamples=\"0\"/>"
      "<headlight ambient=\"0.35 0.35 0.35\" diffuse=\"0.3 0.3 0.3\" specular=\"0 0 0\"/>"
      "<global offwidth=\"%d\" offheight=\"%d\"/></visual>",
      scene.cameras.front().camera.width_px, scene.cameras.front().camera.height_px);
  out.Line("<default>");
  for (int arm = 0; arm < scene.robot.arm_count; ++arm) {
    out.Line("<default class=\"%sarm\"><geom contype=\"%d\" conaffinity=\"%d\"/></default>",
             ArmBodyPrefix(arm).c_str(), ArmClass(arm), kEveryClass & ~ArmClass(arm));
  }
  out.Line("</default>");
  WriteAssets(scene, out);
  out.Line("<worldbody>");
  WriteRoom(scene, out);
  for (int arm = 0; arm < scene.robot.arm_count; ++arm) WriteArm(arm, scene, out);
  for (const SceneObject& object : scene.objects) {
    if (!object.holder_arm) WriteFreeObject(scene, object, out);
  }
  out.Line("</worldbody>");
  WriteActuators(scene, out);
  out.Line("</mujoco>");
  return out.Take();
}

}  // namespace interlacer::sim
