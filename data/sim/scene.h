#pragma once

/// The content of the simulated room, drawn from a seed.
///
/// DrawRoom draws what does not depend on the task; the task then adds its objects and the arms'
/// first pose; AddDistractors comes last.
/// Units and frame as in data/sim/robot.h. Deterministic. Thread-safety: pure functions.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "common/camera.h"
#include "common/geometry.h"
#include "common/random.h"
#include "data/sim/arm_model.h"
#include "data/sim/palette.h"
#include "data/sim/split.h"

namespace interlacer::sim {

inline constexpr Box kWorkspace = {{-0.75, -0.75, -0.05}, {0.75, 0.75, 0.95}};
inline constexpr double kNearM = 0.1;
inline constexpr double kFarM = 2.0;
inline constexpr double kTableHalfX = 0.75;
inline constexpr double kTableHalfY = 0.52;
inline constexpr double kStepDurationS = 0.5;

enum class ObjectShape { kBox, kCylinder };

/// One more piece of an object, rigid with it.
struct ObjectPart {
  ObjectShape shape = ObjectShape::kBox;
  Vec3d half_size_m{};  ///< cylinder: radius, radius, half height
  Transform object_from_part;
  Rgb color{};
  double mass_kg = 0;
  bool solid = true;    ///< false: seen but never touched
  bool visible = true;  ///< false: touched but never seen
};

/// A free body on the table, or a tool in a gripper.
struct SceneObject {
  std::string name;
  ObjectShape shape = ObjectShape::kBox;
  Vec3d half_size_m{};  ///< cylinder: radius, radius, half height
  Rgb color{};
  double mass_kg = 0.2;
  Transform world_from_object;    ///< of a tool: where it works, kept free of distractors
  std::vector<ObjectPart> parts;  ///< beside the main shape
  double rolling_friction_m = 0;  ///< 0: rolls without end
  std::optional<int> holder_arm;  ///< the arm whose gripper has the tool, for good
  Transform gripper_from_object;  ///< of a tool
};

struct SceneCamera {
  std::string name;
  Camera camera;
};

/// One distant light that casts shadows; the rest of the light is ambient.
struct SceneLight {
  Vec3d direction{};  ///< in which its light travels
  Rgb diffuse{};
};

struct Scene {
  RobotSetup robot;
  std::vector<SceneCamera> cameras;
  SceneLight light;
  std::string table_texture;
  Rgb table_tint{1, 1, 1};
  std::string floor_texture;
  Rgb wall_color{};
  std::vector<SceneObject> objects;  ///< the task's first, then distractors
  bool has_grasps = false;           ///< contacts are made firm enough to carry things by friction
  ArmStates first_state;
};

/// Offset of a camera's place, and of what it looks at, from the middle one, by axis: at most
/// kCameraJitterM in train and val; the place in test lies kHeldOutCameraMinM to
/// kHeldOutCameraMaxM off on every axis.
inline constexpr double kCameraJitterM = 0.04;
inline constexpr double kHeldOutCameraMinM = 0.05;
inline constexpr double kHeldOutCameraMaxM = 0.09;
/// Middle place of camera 0 (left) and 1 (right).
extern const std::array<Vec3d, 2> kCameraPlacesM;

/// Cameras, light and materials; the robot is left to the caller.
Scene DrawRoom(RandomSequence& random, Split split, int width_px, int height_px);

/// Adds up to `max_count` small distractors at places away from each other, from the objects
/// already there and from the lane in the middle in which the arms work.
void AddDistractors(RandomSequence& random, ColorSet colors, int max_count, Scene& scene);

}  // namespace interlacer::sim
