#include "data/importers/exported_episode.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/number_text.h"
#include "data/bags/messages.h"
#include "data/episode_record.h"
#include "robots/robot_folder.h"

namespace interlacer {
namespace {

constexpr char kJoints[] = "/joint_states", kCommands[] = "/joint_commands";
/// A coarser one would blur what is recorded.
constexpr double kCoarsestUnitM = 0.001;
/// Steps whose stamps say another duration by more than this share are not the record's.
constexpr double kMostOff = 0.5;
/// Of a single step, which has no spacing.
constexpr double kLongestStepS = 3600;
/// Of robot and truth together.
constexpr std::uint64_t kMostFileBytes = std::uint64_t{256} << 20;

template <typename Cameras>
auto FindNamed(Cameras& cameras, const std::string& name) {
  return std::find_if(cameras.begin(), cameras.end(),
                      [&](const auto& camera) { return camera.name == name; });
}

/// Range of the episode's camera; of one with another name that which all have.
const EpisodeCamera* RangeOf(const EpisodeManifest& exported, const std::string& name) {
  const auto known = FindNamed(exported.cameras, name);
  if (known != exported.cameras.end()) return &*known;
  const EpisodeCamera& first = exported.cameras.front();
  const bool is_same = std::all_of(
      exported.cameras.begin(), exported.cameras.end(), [&](const EpisodeCamera& camera) {
        return camera.near_m == first.near_m && camera.far_m == first.far_m;
      });
  return is_same ? &first : nullptr;
}

StatusOr<Robot> RobotOf(const std::vector<EpisodeFile>& files) {
  constexpr std::string_view kPrefix = "robot/";
  std::vector<RobotFile> of_robot;
  for (const EpisodeFile& file : files) {
    if (!file.path.starts_with(kPrefix)) continue;
    of_robot.push_back({file.path.substr(kPrefix.size()), file.bytes});
  }
  return DecodeRobot(of_robot, kRobotFolder);
}

/// Why files are missing, if some are; truth needs all of its files.
std::string LoadFiles(const BagIndex& bag, std::vector<EpisodeFile>* files) {
  const auto is_of_truth = [](const std::string& path) { return path.starts_with("truth/"); };
  std::uint64_t left_bytes = kMostFileBytes;
  std::string missing;
  int missing_count = 0;
  bool is_truth_whole = true;
  for (const auto& [path, hash] : bag.exported_episode()->files) {
    auto bytes = bag.LoadAttached(path, left_bytes);
    if (bytes.ok()) {
      left_bytes -= bytes->size();
      files->push_back({path, *std::move(bytes)});
      continue;
    }
    is_truth_whole = is_truth_whole && !is_of_truth(path);
    if (++missing_count == 1) missing = bytes.status().message();
  }
  if (missing_count > 1) missing += ", as " + std::to_string(missing_count - 1) + " more files";
  if (is_truth_whole) return missing;
  std::erase_if(*files, [&](const EpisodeFile& file) { return is_of_truth(file.path); });
  return "truth, since " + missing;
}

/// The robot that joints are read with; nothing where the options name one.
StatusOr<std::shared_ptr<const Robot>> ChooseRobot(const BagIndex& bag, const BagOptions& options,
                                                   const ExportedEpisode& exported) {
  if (!options.robot_dir.empty() || !exported.manifest.robot) return {nullptr};
  if (options.joints.empty() && bag.Find(kJoints) == nullptr) {
    return NotFound(reason::ARGUMENT_INVALID,
                    std::string("no topic ") + kJoints + "; --joints TOPIC names another");
  }
  auto robot = RobotOf(exported.files);
  if (!robot.ok()) {
    return NotFound(
        reason::ARGUMENT_INVALID,
        robot.status().message() + "; --robot FOLDER takes them, such as that in the episode");
  }
  return std::make_shared<const Robot>(*std::move(robot));
}

void RestoreManifest(const EpisodeManifest& exported, const ImportOptions& options, bool is_changed,
                     RecordedEpisode* episode, std::vector<std::string>* choices) {
  EpisodeManifest& manifest = episode->manifest;
  EpisodeSource source = exported.source;
  if (!options.license.empty()) source.license = options.license;
  if (!options.attribution.empty()) source.attribution = options.attribution;
  if (is_changed) {
    source.notes.push_back("exported to MCAP and imported again, with changes:");
    const auto& notes = manifest.source.notes;
    source.notes.insert(source.notes.end(), notes.begin(), notes.end());
  }
  manifest.source = std::move(source);
  if (options.episode_id.empty()) manifest.episode_id = exported.episode_id;
  manifest.created_time = exported.created_time;
  manifest.task_name = exported.task_name;
  manifest.task_text = exported.task_text;
  manifest.world_frame_name = exported.world_frame_name;
  manifest.workspace = exported.workspace;
  const bool is_camera_kind = exported.kind != EpisodeKind::kManipulation;
  if (!manifest.robot && is_camera_kind && manifest.step_count == exported.step_count) {
    manifest.kind = exported.kind;
  }
  episode->has_extent = true;
  for (EpisodeCamera& camera : manifest.cameras) {
    const EpisodeCamera* const known = RangeOf(exported, camera.name);
    episode->has_extent = episode->has_extent && known != nullptr;
    if (known == nullptr) continue;
    camera.near_m = known->near_m;
    camera.far_m = known->far_m;
  }
  choices->push_back("exported from episode " + exported.episode_id + ", whose " +
                     (episode->has_extent ? "box, range, task and source hold"
                                          : "task and source hold; box and range are computed"));
}

}  // namespace

std::optional<ExportedEpisode> TakeExportedEpisode(const BagIndex& bag, ImportOptions* options,
                                                   std::vector<std::string>* choices) {
  if (!bag.exported_episode()) return std::nullopt;
  ExportedEpisode exported{bag.exported_episode()->manifest};
  const EpisodeManifest& manifest = exported.manifest;
  BagOptions& of_bag = options->bag;
  const std::string frame = WorldFrameOf(manifest);
  const bool is_other_frame = !of_bag.world_frame.empty() && FrameName(of_bag.world_frame) != frame;
  if (!options->calibration.empty() || is_other_frame) {
    choices->push_back("exported from episode " + manifest.episode_id +
                       ", whose box, range, task, source, licence, robot and truth are left out: "
                       "other poses were asked for");
    return std::nullopt;
  }
  of_bag.world_frame = frame;
  const auto leave_out = [&](const std::string& what) {
    choices->push_back("of the exported episode are left out: " + what);
    exported.is_whole = false;
  };
  for (const EpisodeCamera& camera : manifest.cameras) {
    if (camera.depth_unit_m <= kCoarsestUnitM) {
      of_bag.depth_units_m[camera.name] = camera.depth_unit_m;
    } else if (!options->depth_unit_m) {
      leave_out("depths of " + camera.name + " in units of " + NumberText(camera.depth_unit_m) +
                " m; --depth-unit says it");
    }
  }
  if (const std::string why = LoadFiles(bag, &exported.files); !why.empty()) leave_out(why);
  if (!manifest.robot && manifest.states && of_bag.robot_dir.empty()) {
    leave_out("states and actions: the episode has no robot; --robot FOLDER says whose they are");
  }
  if (auto robot = ChooseRobot(bag, of_bag, exported); robot.ok()) {
    exported.robot = *std::move(robot);
  } else {
    leave_out("joints of robot " + manifest.robot->model + ": " + robot.status().message());
  }
  if (exported.robot != nullptr || !of_bag.robot_dir.empty()) {
    if (of_bag.joints.empty() && bag.Find(kJoints) != nullptr) of_bag.joints = {kJoints};
    if (of_bag.commands.empty() && bag.Find(kCommands) != nullptr) of_bag.commands = kCommands;
  }
  return exported;
}

bool FitCameras(const EpisodeManifest& exported, BagCameras* found) {
  std::vector<BagCamera>& cameras = found->cameras;
  std::string missing;
  bool are_steps = true;
  auto next = cameras.begin();
  for (const EpisodeCamera& camera : exported.cameras) {
    const auto known = FindNamed(cameras, camera.name);
    if (known == cameras.end()) {
      missing += (missing.empty() ? "" : ", ") + camera.name;
      continue;
    }
    are_steps = are_steps && std::ssize(known->frames) == exported.step_count;
    std::rotate(next, known, std::next(known));
    ++next;
  }
  if (!missing.empty()) {
    found->findings.push_back({"CAMERA_MISSING",
                               "the exported episode has cameras that are not in the recording, or "
                               "go by another name: " +
                                   missing,
                               "source"});
  }
  return are_steps && missing.empty() && cameras.size() == exported.cameras.size();
}

bool IsStepPlausible(const EpisodeManifest& exported, const BagCameras& found) {
  const double step_s = exported.step_duration_s;
  const double spacing_s = 1e-9 * static_cast<double>(found.cameras.front().spacing_ns);
  if (spacing_s == 0) return step_s <= kLongestStepS;
  return std::abs(spacing_s - step_s) <= kMostOff * step_s;
}

void Restore(ExportedEpisode exported, const ImportOptions& options, bool is_changed,
             RecordedEpisode* episode, std::vector<std::string>* choices) {
  RestoreManifest(exported.manifest, options, is_changed, episode, choices);
  // The robot's are there already.
  std::erase_if(exported.files,
                [](const EpisodeFile& file) { return !file.path.starts_with("truth/"); });
  if (is_changed) {
    if (!exported.files.empty()) {
      choices->push_back(
          "of the exported episode are left out: truth, since steps or robot differ");
    }
    return;
  }
  std::move(exported.files.begin(), exported.files.end(), std::back_inserter(episode->files));
  // Stamps are those of the steps.
  if (exported.manifest.capture_times_file.empty()) episode->capture_times_ns.clear();
}

}  // namespace interlacer
