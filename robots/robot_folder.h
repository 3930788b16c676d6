#pragma once

/// A robot folder: what every program needs to know of a robot, without URDF or MJCF.
///
///   robot.json            schema interlacer.robot, version 1: name, source, columns (joint names)
///   and
///                         links, parents first: name, parent (all but the root), part, joint
///                         (name, type, origin, axis, limits_rad or limits_m, mimic)
///   surface_points.npy    [n,3] float32, metres, in the frame of the point's link
///   surface_normals.npy   [n,3] float32, unit
///   surface_links.npy     [n] int64, index into links
/// Other files in the folder are left alone. Numbers of robot.json are written so that they come
/// back to the bit. A folder that is read or copied has passed ValidateRobot. Errors:
/// SCHEMA_INVALID, SCHEMA_VERSION_UNSUPPORTED, SHAPE_MISMATCH, those of robots/robot.h and
/// common/file_io.h; the field begins with the file. Sizes are checked before memory is taken.
/// Thread-safety: pure functions.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "robots/robot.h"

namespace interlacer {

inline constexpr char kRobotFile[] = "robot.json";
inline constexpr int kRobotSchemaVersion = 1;

/// The robot with the folder's hash: SHA-256 over names and hashes of the four files.
StatusOr<Robot> ReadRobot(const std::string& folder);

struct RobotFile {
  std::string name;
  std::vector<std::uint8_t> bytes;
};
/// The files of a robot, which must be valid, and the hash of their folder.
struct EncodedRobot {
  std::vector<RobotFile> files;
  std::string sha256;
};
StatusOr<EncodedRobot> EncodeRobot(const Robot& robot);
/// ReadRobot of files in memory, others among them; errors name them as files of `folder`.
StatusOr<Robot> DecodeRobot(const std::vector<RobotFile>& files, const std::string& folder);

/// Writes the files into `folder`, which is made if it is not there; the robot must be valid.
Status WriteRobot(const Robot& robot, const std::string& folder);

/// Copies the four files byte by byte, so that the hash stays, and gives the robot.
StatusOr<Robot> CopyRobot(const std::string& from_folder, const std::string& to_folder);

/// robot.json of a robot; the inverse reads everything but the surface.
nlohmann::ordered_json RobotToJson(const Robot& robot);
StatusOr<Robot> RobotFromJson(const nlohmann::json& document);

}  // namespace interlacer
