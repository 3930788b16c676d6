#pragma once

/// Geometry of the scripted tasks: where above the table the arms can work and wait; headings,
/// turns and distances of tools and objects.
///
/// Metres, radians, frame of data/sim/robot.h. Thread-safety: pure functions.

#include "common/random.h"
#include "data/sim/inverse_kinematics.h"

namespace interlacer::sim {

/// -1 for the left arm, 1 for the right one: the sign of x at its base.
double SideOf(int arm);

/// Whether an arm's tool can work at a place: neither too near nor too far from its base, nor far
/// in the half of another arm.
bool InReach(const RobotSetup& robot, int arm, const Vec3d& tool_m);

/// A place above the arm's own end of the table, out of the way of the other arm.
ToolTarget DrawHover(const RobotSetup& robot, RandomSequence& random, int arm);

/// The same line of the two fingers with |yaw| <= pi/2.
double FoldYaw(double yaw_rad);

/// The point `distance_m` from `from_m` in a horizontal direction.
Vec3d Along(const Vec3d& from_m, double angle_rad, double distance_m);

double YawOf(const Transform& world_from_object);
/// Cosine between the object's z axis and the world's.
double Uprightness(const Transform& world_from_object);
/// Whether an object's place is within the outline of the table top, at whatever height.
bool WithinTheTable(const Transform& world_from_object);

}  // namespace interlacer::sim
