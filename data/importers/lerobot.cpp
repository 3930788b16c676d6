#include "data/importers/lerobot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/number_text.h"
#include "data/importers/joint_columns.h"
#include "data/importers/lerobot_joints.h"
#include "data/importers/lerobot_set.h"
#include "data/importers/lerobot_views.h"
#include "data/importers/write_episode.h"
#include "data/parquet/parquet_table.h"
#include "robots/robot_folder.h"

namespace interlacer {
namespace {

constexpr char kState[] = "observation.state";
constexpr double kDefaultStepDurationS = 0.5;

/// What the format lacks must be given.
Status CheckRequired(const ImportOptions& options) {
  if (options.bag.robot_dir.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--robot",
                    "the folder of the robot whose joints the set has (robot make): the format "
                    "holds only the robot's name",
                    "none");
  }
  if (options.lerobot.joint_unit != "rad" && options.lerobot.joint_unit != "deg") {
    return Mismatch(reason::ARGUMENT_INVALID, "--joint-unit",
                    "rad or deg, which the format does not say: LeRobot's own arms record deg, "
                    "with use_degrees off shares of -100 to 100, and grippers in percent always; "
                    "shares and percent are no angles",
                    options.lerobot.joint_unit.empty() ? "none" : options.lerobot.joint_unit);
  }
  if (options.calibration.empty()) {
    return Mismatch(reason::NO_CALIBRATION, "--calibration",
                    "a file with the cameras (docs/cli.md, Calibration): the format holds neither "
                    "lenses nor poses",
                    "none");
  }
  if (options.frame_stride >= 1) return Status::Ok();
  return Mismatch(reason::ARGUMENT_INVALID, "frame_stride", "at least 1",
                  std::to_string(options.frame_stride));
}

/// The rows of the episode in its table: its first, after checks that they are what they must be.
StatusOr<std::int64_t> FirstRow(const ParquetTable& table, const LerobotEpisode& episode,
                                double fps) {
  INTERLACER_ASSIGN_OR_RETURN(const auto episodes, table.ReadNumbers("episode_index"));
  INTERLACER_ASSIGN_OR_RETURN(const auto frames, table.ReadNumbers("frame_index"));
  INTERLACER_ASSIGN_OR_RETURN(const auto times_s, table.ReadNumbers("timestamp"));
  const auto index = static_cast<double>(episode.index);
  const auto begin = std::find(episodes.begin(), episodes.end(), index);
  const std::int64_t first = begin - episodes.begin();
  const std::int64_t count = std::count(begin, episodes.end(), index);
  if (episode.length < 1 || count != episode.length) {
    return Mismatch(reason::SCHEMA_INVALID, table.path(),
                    std::to_string(episode.length) + " rows of episode " +
                        std::to_string(episode.index) + ", as its metadata say",
                    std::to_string(count));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(first + i);
    if (episodes[row] != index || frames[row] != static_cast<double>(i)) {
      return Mismatch(reason::SCHEMA_INVALID, table.path(),
                      "frame_index 0, 1, ... of episode " + std::to_string(episode.index) +
                          " in rows one after the other",
                      "frame_index " + NumberText(frames[row]) + " of episode " +
                          NumberText(episodes[row]) + " in row " + std::to_string(row));
    }
    if (!(std::abs(times_s[row] * fps - static_cast<double>(i)) < 0.5)) {
      return Mismatch(reason::TIMESTAMP_INVALID, table.path(),
                      "timestamp of frame_index / fps, " +
                          NumberText(static_cast<double>(i) / fps) + " s in row " +
                          std::to_string(row),
                      NumberText(times_s[row]) + " s");
    }
  }
  return first;
}

/// The frames nearest to the steps.
StatusOr<std::vector<std::int64_t>> FramesOfSteps(double step_s, double fps, std::int64_t count) {
  if (!(step_s * fps >= 1) || !std::isfinite(step_s)) {
    return Mismatch(reason::ARGUMENT_INVALID, "--step-duration",
                    "at least a frame of the set, " + NumberText(1 / fps) + " s",
                    NumberText(step_s) + " s");
  }
  std::vector<std::int64_t> frames;
  for (std::int64_t step = 0; true; ++step) {
    const double frame = std::round(static_cast<double>(step) * step_s * fps);
    if (frame >= static_cast<double>(count)) return frames;
    frames.push_back(static_cast<std::int64_t>(frame));
  }
}

Status AddCameras(const LerobotViews& views, const Robot& robot, RecordedEpisode* episode) {
  for (const LerobotView& view : views.views()) {
    EpisodeCamera camera;
    camera.name = view.calibration.name;
    camera.camera = view.calibration.camera;
    camera.depth_unit_m = view.depth_unit_m;
    auto& poses = episode->poses.emplace_back();
    if (!view.calibration.link.empty()) {
      INTERLACER_ASSIGN_OR_RETURN(poses, CarriedPoses(&robot, view.calibration, episode->states));
      camera.camera.world_from_camera = poses.front();
    }
    episode->manifest.cameras.push_back(std::move(camera));
  }
  return Status::Ok();
}

std::vector<std::string> Notes(const LerobotSet& set, const LerobotEpisode& source,
                               const LerobotViews& views, const ImportOptions& options) {
  std::vector<std::string> notes = {
      "LeRobot " + set.version() + ", episode " + std::to_string(source.index),
      "joints in " + options.lerobot.joint_unit + " by --joint-unit"};
  notes.insert(notes.end(), views.choices().begin(), views.choices().end());
  for (const LerobotView& view : views.views()) {
    if (view.color.is_video) {
      notes.push_back("colour of " + view.calibration.name + " is decoded video (" +
                      view.color.codec + "): lossy, unless its writer chose otherwise");
    }
    if (view.depth.coding) {
      notes.push_back("depth of " + view.calibration.name +
                      ": codes 0 and 4095 are no measurement");
    }
  }
  notes.push_back(options.bag.commands.empty()
                      ? "actions: the measured joints of the same step; the set's commands were "
                        "not named (--commands)"
                      : "actions: " + options.bag.commands + " of the same frame");
  return notes;
}

}  // namespace

StatusOr<std::int64_t> CountLerobotEpisodes(const std::string& folder) {
  INTERLACER_ASSIGN_OR_RETURN(const LerobotSet set, LerobotSet::Open(folder));
  return set.episode_count();
}

StatusOr<ImportReport> ImportLerobot(const ImportOptions& options) {
  INTERLACER_RETURN_IF_ERROR(CheckRequired(options));
  INTERLACER_ASSIGN_OR_RETURN(const LerobotSet set, LerobotSet::Open(options.source_dir));
  INTERLACER_ASSIGN_OR_RETURN(const LerobotEpisode source,
                              set.FindEpisode(options.lerobot.episode));
  INTERLACER_ASSIGN_OR_RETURN(const ParquetTable table, ParquetTable::Open(source.table_path));
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t first_row, FirstRow(table, source, set.fps()));
  const double step_s =
      options.bag.step_duration_s.value_or(kDefaultStepDurationS) * options.frame_stride;
  INTERLACER_ASSIGN_OR_RETURN(const auto frames, FramesOfSteps(step_s, set.fps(), source.length));
  INTERLACER_ASSIGN_OR_RETURN(const Robot robot, ReadRobot(options.bag.robot_dir));
  const bool is_degrees = options.lerobot.joint_unit == "deg";
  const auto joints = [&](const std::vector<std::string>& texts, const std::string& option) {
    return ReadLerobotJoints(set, table, first_row, source.length, frames, robot, texts, option,
                             is_degrees);
  };
  RecordedEpisode episode;
  const std::vector<std::string> states =
      options.bag.joints.empty() ? std::vector<std::string>{kState} : options.bag.joints;
  INTERLACER_ASSIGN_OR_RETURN(episode.states, joints(states, "--joints"));
  episode.actions = episode.states;
  if (!options.bag.commands.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(episode.actions, joints({options.bag.commands}, "--commands"));
  }
  INTERLACER_ASSIGN_OR_RETURN(const LerobotViews views,
                              LerobotViews::Find(set, source, table, first_row, frames, options));
  episode.manifest = StartManifest(EpisodeKind::kManipulation, "lerobot", 0,
                                   Notes(set, source, views, options), options);
  episode.manifest.task_text = source.task;
  episode.manifest.step_count = static_cast<int>(frames.size());
  episode.manifest.step_duration_s = step_s;
  episode.manifest.world_frame_name = "world";
  INTERLACER_RETURN_IF_ERROR(AddCameras(views, robot, &episode));
  INTERLACER_RETURN_IF_ERROR(AddRobot(robot, &episode));
  for (const std::int64_t frame : frames) {
    const auto time_ns =
        static_cast<std::int64_t>(std::llround(static_cast<double>(frame) / set.fps() * 1e9));
    episode.capture_times_ns.insert(episode.capture_times_ns.end(), views.views().size(), time_ns);
  }
  episode.read_frame = [&](int step, int camera) {
    return views.Read(step, static_cast<std::size_t>(camera));
  };
  INTERLACER_ASSIGN_OR_RETURN(ImportReport report, WriteEpisode(std::move(episode), options));
  report.choices = views.choices();
  return report;
}

}  // namespace interlacer
