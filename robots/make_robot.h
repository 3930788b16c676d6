#pragma once

/// Makes a robot from its URDF or MJCF description.
///
/// URDF (root <robot>): visual meshes and primitives of every link, collision shapes where a link
/// has no visual; `package://` and `model://` are looked for in package_paths and above the file.
/// MJCF (root <mujoco>): visual geoms, those that collide where a body has no other; every body is
/// a link, welded ones too, and the world body is the root, without surface unless `links` names
/// it; joint equalities become mimic joints. Joints outside `columns`, floating and planar ones are
/// held still at their value of rest and become fixed. What had to be decided stands in the notes.
/// Deterministic: equal files, options and seed give equal robots.
/// Errors: INVALID_ARGUMENT SCHEMA_INVALID, FILE_UNREADABLE for meshes, ARGUMENT_INVALID for
/// options, naming link and file; UNIMPLEMENTED FEATURE_NOT_BUILT. Files are measured before they
/// are loaded: at most kMaxMeshBytes a mesh and kMaxMeshBytesOfRobot in all. Thread-safe.

#include <span>
#include <string>

#include "robots/made_robot.h"

namespace interlacer {

StatusOr<MadeRobot> MakeRobot(const std::string& model_path, const MakeRobotOptions& options);

/// Several robots as one: a root `world` on which they stand; links and joints get the prefixes.
/// The columns follow each other. Errors: SCHEMA_INVALID where names fall together.
StatusOr<Robot> JoinRobots(const std::string& name, std::span<const Robot> robots,
                           std::span<const std::string> prefixes);

}  // namespace interlacer
