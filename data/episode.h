#pragma once

/// Description of an episode: cameras, robot, tables of numbers, and where each file lies.
///
/// An EpisodeManifest is the content of manifest.json; data/manifest.h reads and writes it,
/// data/episode_reader.h and data/episode_writer.h the folder around it. Steps are step_duration_s
/// apart; a static scene has one step and many cameras. Units and frames: common/geometry.h,
/// common/camera.h; depth is z in integers of depth_unit_m, registered to colour. Value types.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/camera.h"
#include "common/scene.h"

namespace interlacer {

enum class EpisodeKind {
  kManipulation,  ///< fixed or moving cameras, a robot, actions
  kStaticViews,   ///< one moment seen by many cameras
  kMovingCamera,  ///< many steps, no actions
};

/// Origin of the recording; stored so that every result can name its data.
struct EpisodeSource {
  std::string kind;  ///< "simulate" or "import"
  std::string tool;  ///< program and version
  std::string command;
  std::optional<std::uint64_t> seed;
  std::string license;
  std::string attribution;
  std::vector<std::string> notes;  ///< what an importer did or left out, one sentence each
  bool operator==(const EpisodeSource&) const = default;
};

struct EpisodeCamera {
  std::string name;
  /// Calibration; world_from_camera is the pose of every step unless poses_file is set.
  Camera camera;
  std::string poses_file;     ///< float64 [steps,4,4] world_from_camera; empty: fixed camera
  std::string color_pattern;  ///< such as "color/left/%06d.png"
  std::string depth_pattern;
  double depth_unit_m = 0;
  double near_m = 0.1;
  double far_m = 2.0;
};

struct TableColumn {
  std::string name;  ///< with unit suffix, such as "left_joint_1_rad"
  std::string unit;  ///< "rad" or "m"
  double min_value = 0;
  double max_value = 0;
  bool operator==(const TableColumn&) const = default;
};

/// Description of actions or states.
struct MotionTable {
  std::string file;
  ActionKind kind = ActionKind::kJointPositions;
  std::vector<TableColumn> columns;
};

struct RobotArm {
  std::string name;
  Transform world_from_base;
};

struct RobotInfo {
  std::string model;
  std::string mjcf_sha256;
  std::vector<RobotArm> arms;
  std::string folder;         ///< robot folder inside the episode; empty in older episodes
  std::string folder_sha256;  ///< Robot::sha256
};

struct EpisodeManifest {
  std::string episode_id;
  EpisodeKind kind = EpisodeKind::kManipulation;
  std::string created_time;  ///< RFC 3339, UTC
  EpisodeSource source;
  std::string task_name;
  std::string task_text;
  int step_count = 0;
  double step_duration_s = 0.5;
  std::string world_frame_name;
  Box workspace;
  std::vector<EpisodeCamera> cameras;
  std::string capture_times_file;  ///< empty: all cameras at step x step_duration
  std::optional<RobotInfo> robot;
  std::optional<MotionTable> actions;  ///< row s is the target at step s
  std::optional<MotionTable> states;   ///< row s is the reading at step s
  std::string files_sha256;            ///< hash of files.sha256
};

/// Row-major [row_count,column_count].
struct NumberTable {
  std::int64_t row_count = 0;
  std::int64_t column_count = 0;
  std::vector<double> values;
};

}  // namespace interlacer
