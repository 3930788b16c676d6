#pragma once

/// What stands in the simulated room, drawn from a seed.
///
/// DrawRoom draws what does not depend on the task; the task then adds its objects and the arms'
/// first pose; AddDistractors comes last.
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
inline constexpr double kTableHalfX = 0.75;
inline constexpr double kTableHalfY = 0.52;
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

/// One far lamp that casts shadows; the rest of the light comes from everywhere.
struct SceneLight {
  Vec3d direction{};  ///< in which its light travels
  Rgb diffuse{};
};

struct Scene {
  std::vector<SceneCamera> cameras;
  SceneLight light;
  std::string table_texture;
  Rgb table_tint{1, 1, 1};
  std::string floor_texture;
  Rgb wall_color{};
  std::vector<SceneObject> objects;  ///< the task's first, then distractors
  RobotState first_state{};
};

/// Cameras, light and materials.
Scene DrawRoom(RandomSequence& random, int width_px, int height_px);

/// Adds up to `max_count` small distractors at places away from each other, from the objects
/// already there and from the lane in the middle in which the arms work.
void AddDistractors(RandomSequence& random, int max_count, Scene& scene);

}  // namespace interlacer::sim
