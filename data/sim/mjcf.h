#pragma once

/// The MuJoCo model of a scene as MJCF text.
///
/// The text names the meshes of the arm model and textures without a folder: the loader supplies
/// them from memory, so the text is the same on every machine. Metres, radians, kilograms;
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
std::string ArmBodyPrefix(int arm);  ///< "left/", begins the name of every body of the arm
std::string FingerBodyName(int arm, int finger);

/// Actuators follow the columns of a robot state, with two (equal) ones for each gripper.
std::string ComposeMjcf(const Scene& scene);

}  // namespace interlacer::sim
