#include "data/importers/hdf5.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "common/json.h"
#include "data/hdf5/hdf5_file.h"
#include "data/importers/frame_pairs.h"
#include "data/importers/hdf5_joints.h"
#include "data/importers/hdf5_views.h"
#include "data/importers/joint_columns.h"
#include "data/importers/write_episode.h"
#include "robots/robot_folder.h"

namespace interlacer {
namespace {

/// Groups that are looked into for PointWorld's clips, and how deep.
constexpr int kMostGroups = 100, kMostDepth = 3;

/// The first group with the pictures of PointWorld's layout; empty: none.
std::string FindClip(const Hdf5File& file, const std::string& group, int depth, int* left) {
  if (file.Has(group + "/initial_depth")) return group.empty() ? "/" : group;
  if (depth == kMostDepth) return "";
  for (const std::string& name : file.Names(group.empty() ? "/" : group)) {
    if (--*left < 0) return "";
    std::string found = FindClip(file, group + "/" + name, depth + 1, left);
    if (!found.empty()) return found;
  }
  return "";
}

/// Path of the demonstration's group.
StatusOr<std::string> FindDemo(const Hdf5File& file, const std::string& demo) {
  int left = kMostGroups;
  if (const std::string clip = FindClip(file, "", 0, &left); !clip.empty()) {
    return Mismatch(reason::NO_DEPTH, file.path(),
                    "colour and depth of every step; PointWorld's clips have those of their first "
                    "frame and flows of points after it: import the recording that they were made "
                    "from",
                    "initial_depth in " + clip);
  }
  std::vector<std::string> demos = file.Names("data");
  std::sort(demos.begin(), demos.end(), NaturalLess);
  if (demos.empty()) {
    return Mismatch(reason::SCHEMA_INVALID, file.path(),
                    "demonstrations as data/demo_0/obs, as robomimic and robosuite write them",
                    "groups " + ListOfNames(file.Names("/")));
  }
  if (demo.empty() && demos.size() == 1) return "data/" + demos.front();
  if (std::find(demos.begin(), demos.end(), demo) != demos.end()) return "data/" + demo;
  return Mismatch(reason::ARGUMENT_INVALID, "--demo", "one of " + ListOfNames(demos),
                  demo.empty() ? "none" : demo);
}

StatusOr<double> StepDuration(const Hdf5File& file, const ImportOptions& options) {
  if (options.bag.step_duration_s) return *options.bag.step_duration_s;
  const auto text = file.TextAttribute("data", "env_args");
  const nlohmann::json args = nlohmann::json::parse(text.value_or(""), nullptr, false);
  const nlohmann::json::json_pointer place("/env_kwargs/control_freq");
  if (args.is_object() && args.contains(place) && args[place].is_number()) {
    const double frequency_hz = args[place].get<double>();
    // Steps of a millisecond to an hour.
    if (frequency_hz >= 1.0 / 3600 && frequency_hz <= 1000) return 1 / frequency_hz;
  }
  return Mismatch(reason::ARGUMENT_INVALID, "--step-duration",
                  "seconds of a step; env_args has no control_freq of use", "none");
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
  std::shared_ptr<const Robot> robot;
  RecordedEpisode episode;
  std::vector<std::string> notes = {
      demo, "no capture times in the file: steps of " + std::to_string(duration_s) + " s"};
  if (!options.bag.robot_dir.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(Robot read, ReadRobot(options.bag.robot_dir));
    robot = std::make_shared<const Robot>(std::move(read));
    INTERLACER_ASSIGN_OR_RETURN(
        Hdf5Joints joints,
        ReadHdf5Joints(file, demo, robot, options.bag, steps, views.step_count(), options.stop));
    episode.states = std::move(joints.states);
    episode.actions = episode.states;
    notes.insert(notes.end(), joints.notes.begin(), joints.notes.end());
  } else if (!options.bag.joints.empty() || !options.bag.end_effectors.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--robot",
                    "the folder of the robot whose joints these are", "none");
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
      INTERLACER_ASSIGN_OR_RETURN(poses,
                                  CarriedPoses(robot.get(), view.calibration, episode.states));
      camera.camera.world_from_camera = poses.front();
    }
    episode.manifest.cameras.push_back(std::move(camera));
  }
  if (robot) INTERLACER_RETURN_IF_ERROR(AddRobot(*robot, &episode));
  episode.findings = views.findings();
  episode.read_frame = [&](int step, int camera) {
    return views.Read(steps[static_cast<std::size_t>(step)], static_cast<std::size_t>(camera));
  };
  return WriteEpisode(std::move(episode), options);
}

}  // namespace interlacer
