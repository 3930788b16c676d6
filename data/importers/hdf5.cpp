#include "data/importers/hdf5.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "common/json.h"
#include "data/hdf5/hdf5_file.h"
#include "data/importers/frame_pairs.h"
#include "data/importers/hdf5_views.h"
#include "data/importers/joint_columns.h"
#include "data/importers/write_episode.h"
#include "data/manifest.h"
#include "robots/forward_kinematics.h"
#include "robots/robot_folder.h"

namespace interlacer {
namespace {

std::string Joined(const std::vector<std::string>& names) {
  constexpr std::size_t kMostListed = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostListed); ++i) {
    text += (text.empty() ? "" : ", ") + names[i];
  }
  if (names.size() > kMostListed) text += ", ... (" + std::to_string(names.size()) + ")";
  return text.empty() ? "none" : text;
}

/// Path of the demonstration's group.
StatusOr<std::string> FindDemo(const Hdf5File& file, const std::string& demo) {
  std::vector<std::string> demos = file.Names("data");
  std::sort(demos.begin(), demos.end(), NaturalLess);
  if (demos.empty()) {
    return Mismatch(reason::SCHEMA_INVALID, file.path(),
                    "demonstrations as data/demo_0/obs, as robomimic and robosuite write them",
                    "groups " + Joined(file.Names("/")));
  }
  if (demo.empty() && demos.size() == 1) return "data/" + demos.front();
  if (std::find(demos.begin(), demos.end(), demo) != demos.end()) return "data/" + demo;
  return Mismatch(reason::ARGUMENT_INVALID, "--demo", "one of " + Joined(demos),
                  demo.empty() ? "none" : demo);
}

/// A column of an array.
struct Column {
  Hdf5Array array;
  std::size_t index = 0;
};

/// Where each named joint is, by --joints DATASET=NAME,...
StatusOr<std::map<std::string, Column>> FindColumns(const Hdf5File& file, const std::string& demo,
                                                    const std::vector<std::string>& joints,
                                                    std::int64_t steps) {
  std::map<std::string, Column> columns;
  for (const std::string& text : joints) {
    const std::size_t equals = text.find('=');
    const std::string path = demo + "/" + text.substr(0, equals);
    const auto array = file.FindArray(path);
    std::vector<std::string> names;
    for (std::size_t at = equals; at != std::string::npos;) {
      const std::size_t end = text.find(',', at + 1);
      names.push_back(text.substr(at + 1, end == std::string::npos ? end : end - at - 1));
      at = end;
    }
    const bool fits = array && array->shape.size() == 2 && array->shape[0] == steps &&
                      array->shape[1] == std::ssize(names);
    if (!fits) {
      std::string got = path + ": no such array of numbers";
      if (array) got = path + " [" + std::to_string(array->shape[0]) + ",...]";
      if (array && array->shape.size() == 2) {
        got = path + " of " + std::to_string(array->shape[0]) + " rows and " +
              std::to_string(array->shape[1]) + " columns for " + std::to_string(names.size()) +
              " names";
      }
      return Mismatch(reason::ACTION_SHAPE, "--joints",
                      "DATASET=NAME,NAME,...: an array of " + std::to_string(steps) +
                          " rows with a name for each column (- for one that is no joint); obs "
                          "has " +
                          Joined(file.Names(demo + "/obs")),
                      got);
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] != "-") columns[names[i]] = {*array, i};
    }
  }
  return columns;
}

/// [steps,columns] of the robot.
StatusOr<NumberTable> ReadJoints(const Hdf5File& file, const std::string& demo, const Robot& robot,
                                 const std::vector<std::string>& joints,
                                 const std::vector<std::int64_t>& steps, std::int64_t step_count) {
  if (joints.empty()) {
    const std::vector<std::string> entries = file.Names(demo + "/obs");
    const bool has_joints = std::any_of(entries.begin(), entries.end(), [](const auto& name) {
      return name.ends_with("joint_pos");
    });
    return Mismatch(
        reason::ACTION_SHAPE, "--joints",
        has_joints ? "DATASET=NAME,NAME,...: which joints of the robot the columns of an array are"
                   : "positions of joints: a pose of the end effector leaves open how the arm "
                     "stands; compute joints by inverse kinematics when recording, or replay the "
                     "states with joint_pos among the observations",
        "obs has " + Joined(entries));
  }
  INTERLACER_ASSIGN_OR_RETURN(const auto columns, FindColumns(file, demo, joints, step_count));
  NumberTable table{std::ssize(steps), std::ssize(robot.columns), {}};
  std::vector<const Column*> found;
  for (const int link : robot.columns) {
    const std::string& name = robot.links[static_cast<std::size_t>(link)].joint.name;
    const auto column = columns.find(name);
    if (column == columns.end()) {
      std::vector<std::string> names;
      for (const auto& [known, ignored] : columns) names.push_back(known);
      return Mismatch(reason::ACTION_SHAPE, "--joints", "joint " + name + " of --robot",
                      Joined(names));
    }
    found.push_back(&column->second);
  }
  for (const std::int64_t step : steps) {
    std::map<std::string, std::vector<double>> rows;
    for (const Column* column : found) {
      std::vector<double>& row = rows[column->array.path];
      if (row.empty()) {
        INTERLACER_ASSIGN_OR_RETURN(row, file.ReadRow<double>(column->array, step));
      }
      const double value = row[column->index];
      if (!std::isfinite(value)) {
        return Mismatch(reason::NOT_FINITE, column->array.path + " row " + std::to_string(step),
                        "finite numbers", std::to_string(value));
      }
      table.values.push_back(value);
    }
  }
  return table;
}

StatusOr<double> StepDuration(const Hdf5File& file, const ImportOptions& options) {
  if (options.bag.step_duration_s) return *options.bag.step_duration_s;
  const auto text = file.TextAttribute("data", "env_args");
  const nlohmann::json args = nlohmann::json::parse(text.value_or(""), nullptr, false);
  const nlohmann::json::json_pointer place("/env_kwargs/control_freq");
  if (args.is_object() && args.contains(place) && args[place].is_number()) {
    const double frequency_hz = args[place].get<double>();
    if (frequency_hz > 0 && std::isfinite(frequency_hz)) return 1 / frequency_hz;
  }
  return Mismatch(reason::ARGUMENT_INVALID, "--step-duration",
                  "seconds of a step; env_args has no control_freq", "none");
}

}  // namespace

StatusOr<ImportReport> ImportHdf5(const ImportOptions& options) {
  if (options.frame_stride < 1) {
    return Mismatch(reason::ARGUMENT_INVALID, "frame_stride", "at least 1",
                    std::to_string(options.frame_stride));
  }
  INTERLACER_ASSIGN_OR_RETURN(const Hdf5File file, Hdf5File::Open(options.source_dir));
  INTERLACER_ASSIGN_OR_RETURN(const std::string demo, FindDemo(file, options.hdf5.demo));
  INTERLACER_ASSIGN_OR_RETURN(const Hdf5Views views, Hdf5Views::Find(file, demo, options));
  INTERLACER_ASSIGN_OR_RETURN(const double duration_s, StepDuration(file, options));
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step < views.step_count(); step += options.frame_stride) {
    steps.push_back(step);
  }
  std::optional<Robot> robot;
  RecordedEpisode episode;
  if (!options.bag.robot_dir.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(robot, ReadRobot(options.bag.robot_dir));
    INTERLACER_ASSIGN_OR_RETURN(episode.states, ReadJoints(file, demo, *robot, options.bag.joints,
                                                           steps, views.step_count()));
    episode.actions = episode.states;
  }
  std::vector<std::string> notes = {
      demo, "no capture times in the file: steps of " + std::to_string(duration_s) + " s"};
  if (robot) {
    notes.push_back(
        "actions: the measured joints of the same step; those of the file are "
        "normalised changes");
  }
  const EpisodeKind kind = robot               ? EpisodeKind::kManipulation
                           : steps.size() == 1 ? EpisodeKind::kStaticViews
                                               : EpisodeKind::kMovingCamera;
  episode.manifest = StartManifest(kind, "hdf5", 0, notes, options);
  episode.manifest.step_count = static_cast<int>(steps.size());
  episode.manifest.step_duration_s = duration_s * options.frame_stride;
  episode.manifest.world_frame_name = "world";
  for (const Hdf5View& view : views.views()) {
    EpisodeCamera camera;
    camera.name = view.calibration.name;
    camera.camera = view.calibration.camera;
    camera.depth_unit_m = views.depth_unit_m();
    auto& poses = episode.poses.emplace_back();
    if (!view.calibration.link.empty()) {
      INTERLACER_ASSIGN_OR_RETURN(
          poses, CarriedPoses(robot ? &*robot : nullptr, view.calibration, episode.states));
      camera.camera.world_from_camera = poses.front();
    }
    episode.manifest.cameras.push_back(std::move(camera));
  }
  if (robot) {
    INTERLACER_ASSIGN_OR_RETURN(EncodedRobot encoded, EncodeRobot(*robot));
    episode.manifest.robot = RobotInfo{};
    episode.manifest.robot->model = robot->name;
    episode.manifest.robot->folder = "robot";
    episode.manifest.robot->folder_sha256 = encoded.sha256;
    episode.robot_files = std::move(encoded.files);
    episode.manifest.states = JointColumns(*robot);
    episode.manifest.actions = JointColumns(*robot);
  }
  episode.findings = views.findings();
  episode.read_frame = [&](int step, int camera) {
    return views.Read(steps[static_cast<std::size_t>(step)], static_cast<std::size_t>(camera));
  };
  return WriteEpisode(std::move(episode), options);
}

}  // namespace interlacer
