#pragma once

/// The MuJoCo model of a scene as MJCF text.
///
/// The text names its meshes (link_0.stl ... link_7.stl) and textures without a folder: the loader
/// supplies them from memory, so the text is the same on every machine. Metres, radians, kilograms;
/// frames from data/sim/robot.h. Deterministic. Thread-safety: pure functions.

#include <string>

#include "data/sim/scene.h"

namespace interlacer::sim {

inline constexpr double kPhysicsStepS = 0.004;

/// Position servos: torque = stiffness (target - q) - damping dq/dt.
inline constexpr double kJointStiffness = 6000;
inline constexpr double kJointDamping = 300;
inline constexpr double kFingerStiffness = 2000;
inline constexpr double kFingerDamping = 60;

inline constexpr char kTableGeomName[] = "table";
std::string LinkMeshName(int link);  ///< "link_0.stl" ... "link_7.stl"
std::string ArmBodyPrefix(int arm);  ///< "left/", begins the name of every body of the arm
std::string FingerBodyName(int arm, int finger);

/// Actuators follow the columns of a robot state, with two (equal) ones for each gripper.
std::string ComposeMjcf(const Scene& scene);

}  // namespace interlacer::sim
