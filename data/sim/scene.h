#pragma once

/// What stands in the simulated room, drawn from a seed, and its MuJoCo model.
///
/// DrawRoom draws everything that does not depend on the task: cameras, light, materials and
/// distractors keep away from `keep_free_m`. A task adds its objects and the arms' first pose.
/// Units and frame as in data/sim/robot.h. Deterministic. Thread-safety: pure functions.

#include <array>
#include <string>
#include <vector>

#include "common/camera.h"
#include "common/geometry.h"
#include "common/random.h"
#include "data/sim/robot.h"

namespace interlacer::sim {

inline constexpr Box kWorkspace = {{-0.75, -0.75, -0.05}, {0.75, 0.75, 0.95}};
inline constexpr double kNearM = 0.1;
inline constexpr double kFarM = 2.0;
inline constexpr double kStepDurationS = 0.5;

using Rgb = std::array<double, 3>;  ///< 0...1 per channel

enum class ObjectShape { kBox, kCylinder };

/// A free body on the table.
struct SceneObject {
  std::string name;
  ObjectShape shape = ObjectShape::kBox;
  Vec3d half_size_m{};  ///< cylinder: radius, radius, half height
  Rgb color{};
  double mass_kg = 0.2;
  Transform world_from_object;
};

struct SceneCamera {
  std::string name;
  Camera camera;
};

struct SceneLight {
  Vec3d position_m{};
  Vec3d direction{};
  Rgb diffuse{};
  Rgb ambient{};
};

struct Scene {
  std::vector<SceneCamera> cameras;
  std::vector<SceneLight> lights;
  std::string table_texture;
  Rgb table_tint{1, 1, 1};
  std::string floor_texture;
  Rgb wall_color{};
  std::vector<SceneObject> objects;  ///< the task's first, then distractors
  RobotState first_state{};
};

/// Cameras, lights and materials.
Scene DrawRoom(RandomSequence& random, int width_px, int height_px);

/// Adds up to `max_count` small distractors at places away from each other, from the objects
/// already there and from the lane in the middle in which the arms work.
void AddDistractors(RandomSequence& random, int max_count, Scene& scene);

/// Textures that ComposeMjcf may name, relative to the folder of textures.
std::vector<std::string> SceneTextures(const Scene& scene);

/// File names under which ComposeMjcf expects the robot's meshes: "link_0.stl" ... "link_7.stl".
std::string LinkMeshName(int link);

/// Names of bodies and geoms in the model.
inline constexpr char kTableGeomName[] = "table";
std::string ArmBodyPrefix(int arm);             ///< "left/"
std::string FingerBodyName(int arm, int finger);

/// The whole model as MJCF text.
std::string ComposeMjcf(const Scene& scene);

}  // namespace interlacer::sim
