#pragma once

/// Options and results of all importers.
///
/// Data that a source lacks (intrinsics, where its format has none) are required options and never
/// guessed. Near and far, and the workspace box, are options; without them they are computed from
/// the measured points and the manifest's notes say how. Value types.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "data/validate.h"

namespace interlacer {

/// A camera's topic; the name is that of the episode's camera.
struct NamedTopic {
  std::string name;
  std::string topic;
};

/// Of a bag (data/importers/ros2.h); what is empty is found by type.
struct BagOptions {
  std::vector<NamedTopic> color;
  std::vector<NamedTopic> depth;
  std::vector<NamedTopic> camera_info;
  std::vector<std::string> joints;  ///< topics of measured joints
  std::string commands;             ///< topic of commanded joints
  /// Poses that joints are sought for: data/importers/end_effector_joints.h.
  std::vector<std::string> end_effectors;
  std::string world_frame;
  std::string robot_dir;
  std::optional<double> step_duration_s;
  /// What an export says (data/importers/exported_episode.h): depth units by camera where the
  /// options say none, and that the images of every camera are the steps.
  std::map<std::string, double> depth_units_m{};
  bool are_frames_steps = false;
};

/// Of an HDF5 file (data/importers/hdf5.h); joints, end effectors, robot and step duration are
/// those of BagOptions.
struct Hdf5Options {
  std::string demo;        ///< empty: the only one
  std::string depth_kind;  ///< metres, z_buffer, or empty: what camera_info says
  double z_near_m = 0, z_far_m = 0;
};

/// Of a LeRobot data set (data/importers/lerobot.h); cameras, joints, commands, robot and step
/// duration are those of BagOptions, with features in place of topics.
struct LerobotOptions {
  std::optional<std::int64_t> episode;  ///< absent: the only one
  std::string joint_unit;               ///< of angles: rad or deg
};

struct ImportOptions {
  std::string source_dir;   ///< folder, or a bag's file
  std::string episode_dir;  ///< written
  std::string episode_id;   ///< empty: the name of episode_dir, with _ for what names may not have
  /// As data/importers/intrinsics.h; required for tum and redwood.
  std::string intrinsics;
  /// File of data/importers/calibration_file.h; holds in place of what the recording says.
  std::string calibration;
  /// Metres per depth integer, where the format's own (tum 1/5000, redwood 1/1000) does not hold.
  std::optional<double> depth_unit_m;
  /// Depth integer that means "no measurement" beside 0 and 65535
  /// (data/importers/no_measurement.h).
  std::optional<std::uint16_t> no_depth_value;
  /// Of time stamps: s, ms, us or ns; empty: found by their size (data/importers/time_stamps.h).
  std::string time_unit;
  /// File with poses, relative to source_dir or the working folder; empty: the format's usual name.
  std::string trajectory;
  /// Folders of images inside source_dir (redwood); empty: the format's usual names.
  std::string color_folder;
  std::string depth_folder;
  std::optional<double> near_m;
  std::optional<double> far_m;
  std::optional<Box> workspace;
  BagOptions bag;
  Hdf5Options hdf5;
  LerobotOptions lerobot;
  int frame_stride = 1;  ///< every n-th frame
  std::string license;
  std::string attribution;
  std::string command;  ///< for the manifest
  bool overwrite = false;
  /// Asked between frames; a stopped import leaves nothing behind.
  std::stop_token stop;
  /// Called after each frame, from any thread, one call at a time.
  std::function<void(std::int64_t done, std::int64_t total)> on_frame;
};

struct ImportReport {
  int frame_count = 0;                 ///< written
  int skipped_count = 0;               ///< frames of the source without partner, file or pose
  std::vector<std::string> choices{};  ///< what was found in the source and not given
  ValidationReport validation;
};

}  // namespace interlacer
