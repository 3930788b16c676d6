#include "data/importers/ros2.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/number_text.h"
#include "common/transforms.h"
#include "data/importers/bag_cameras.h"
#include "data/importers/bag_end_effectors.h"
#include "data/importers/bag_joints.h"
#include "data/importers/bag_steps.h"
#include "data/importers/bag_world.h"
#include "data/importers/exported_episode.h"
#include "data/importers/joint_columns.h"
#include "data/importers/write_episode.h"
#include "data/manifest.h"
#include "data/pose_spread.h"
#include "robots/robot_folder.h"

namespace interlacer {
namespace {

/// Poses of a camera that stands still, which were computed each time.
constexpr double kSamePlaceM = 1e-6;
constexpr double kSameDirection = 1e-6;

class BagImport {
 public:
  BagImport(const ImportOptions& options, BagIndex bag)
      : given_(options), options_(options), bag_(std::move(bag)) {}

  StatusOr<ImportReport> Run() {
    exported_ = TakeExportedEpisode(bag_, &options_, &choices_);
    // What is missing in a file that is cut or damaged may be what was cut.
    if (const Status status = FindSteps(); !status.ok()) {
      return Status(status.code(), status.reason(), status.message() + FindingsText())
          .WithField(status.field());
    }
    INTERLACER_ASSIGN_OR_RETURN(RecordedEpisode episode, MakeEpisode());
    INTERLACER_ASSIGN_OR_RETURN(ImportReport report, WriteEpisode(std::move(episode), options_));
    report.choices = choices_;
    report.choices.insert(report.choices.end(), found_.choices.begin(), found_.choices.end());
    if (joints_) {
      report.choices.insert(report.choices.end(), joints_->choices().begin(),
                            joints_->choices().end());
    }
    return report;
  }

 private:
  const std::string& world() const { return options_.bag.world_frame; }
  const std::vector<BagStep>& steps() const { return found_steps_.steps; }

  Status FindSteps() {
    INTERLACER_ASSIGN_OR_RETURN(found_, FindCameras(bag_, options_));
    if (exported_) FitSteps();
    INTERLACER_RETURN_IF_ERROR(CheckWorldFrame(bag_, found_, world()));
    INTERLACER_RETURN_IF_ERROR(FindRobot());
    INTERLACER_RETURN_IF_ERROR(CheckLinks());
    const BagSources sources{bag_, found_, joints_ ? &*joints_ : nullptr,
                             ends_ ? &*ends_ : nullptr};
    INTERLACER_ASSIGN_OR_RETURN(found_steps_, FindBagSteps(sources, options_));
    if (joints_) {
      const BagCamera& first = found_.cameras.front();
      INTERLACER_RETURN_IF_ERROR(CheckBase(bag_, joints_->robot(), world(),
                                           first.frames[steps().front().frames.front()].time_ns));
    }
    return Status::Ok();
  }

  bool has_robot() const {
    return !options_.bag.robot_dir.empty() || (exported_ && exported_->robot != nullptr);
  }

  /// Steps are those that were exported, unless the options or the stamps say otherwise.
  void FitSteps() {
    const double step_s = exported_->manifest.step_duration_s;
    const bool has_all = FitCameras(exported_->manifest, &found_);
    if (given_.bag.step_duration_s) return;
    if (!IsStepPlausible(exported_->manifest, found_)) {
      found_.findings.push_back({"EPISODE_RECORD_INVALID",
                                 "the exported episode is said to have steps of " +
                                     NumberText(step_s) + " s, which its images contradict",
                                 "source"});
      return;
    }
    options_.bag.are_frames_steps = has_all && given_.frame_stride == 1;
    const bool is_grid =
        has_robot() && 1e9 * step_s >= static_cast<double>(found_.cameras.front().spacing_ns);
    if (is_grid || options_.bag.are_frames_steps) options_.bag.step_duration_s = step_s;
  }

  /// Whether the import does more than to read what was exported.
  bool IsChanged(const RecordedEpisode& episode) const {
    const BagOptions& bag = given_.bag;
    const EpisodeManifest &before = exported_->manifest, &now = episode.manifest;
    const auto robot_of = [](const EpisodeManifest& manifest) {
      return manifest.robot ? manifest.robot->folder_sha256 : std::string();
    };
    return !exported_->is_whole || before.states.has_value() != now.states.has_value() ||
           robot_of(before) != robot_of(now) || !options_.bag.are_frames_steps ||
           episode.skipped_count > 0 || !bag.color.empty() || !bag.joints.empty() ||
           !bag.commands.empty() || !bag.end_effectors.empty() || given_.depth_unit_m ||
           (before.actions && joints_ && !joints_->has_commands());
  }

  std::string FindingsText() const {
    std::string text;
    for (const Finding& finding : bag_.findings()) {
      text += "; " + finding.field + ": " + finding.message;
    }
    return text;
  }

  Status FindRobot() {
    if (!has_robot()) {
      if (!options_.bag.joints.empty() || !options_.bag.commands.empty() ||
          !options_.bag.end_effectors.empty()) {
        return Mismatch(reason::ARGUMENT_INVALID, "--robot",
                        "the folder of the robot whose joints these are", "none");
      }
      return Status::Ok();
    }
    std::shared_ptr<const Robot> robot;
    if (options_.bag.robot_dir.empty()) {
      robot = exported_->robot;
    } else {
      INTERLACER_ASSIGN_OR_RETURN(Robot read, ReadRobot(options_.bag.robot_dir));
      robot = std::make_shared<const Robot>(std::move(read));
    }
    INTERLACER_ASSIGN_OR_RETURN(joints_, BagJoints::Find(bag_, options_.bag, std::move(robot)));
    if (options_.bag.end_effectors.empty()) return Status::Ok();
    INTERLACER_ASSIGN_OR_RETURN(ends_, BagEndEffectors::Make(bag_, options_.bag, *joints_));
    return Status::Ok();
  }

  /// Links that carry cameras must be the robot's.
  Status CheckLinks() const {
    for (const BagCamera& camera : found_.cameras) {
      if (!camera.calibration || camera.calibration->link.empty()) continue;
      INTERLACER_RETURN_IF_ERROR(
          CheckLink(joints_ ? &joints_->robot() : nullptr, *camera.calibration));
      if (!ends_) continue;
      return Mismatch(reason::ARGUMENT_INVALID, "--calibration",
                      "with --inverse-kinematics cameras that stand, or that the recording's "
                      "transforms place",
                      camera.name + " on link " + camera.calibration->link);
    }
    return Status::Ok();
  }

  StatusOr<RecordedEpisode> MakeEpisode() {
    RecordedEpisode episode;
    std::vector<std::string> notes = found_.notes;
    notes.insert(notes.end(), found_.choices.begin(), found_.choices.end());
    notes.push_back("capture times are the stamps of the colour images");
    if (joints_) {
      notes.push_back(joints_->has_commands()
                          ? "actions: the command of " + options_.bag.commands + " in force"
                          : std::string("actions: the ") + (ends_ ? "" : "measured ") +
                                "joints of the same step; the recording's commands were not named "
                                "(--commands)");
      if (ends_) notes.push_back(ends_->joints().Note());
    }
    episode.skipped_count = found_.unpaired_count + found_steps_.left_out_count;
    const EpisodeKind kind = joints_               ? EpisodeKind::kManipulation
                             : steps().size() == 1 ? EpisodeKind::kStaticViews
                                                   : EpisodeKind::kMovingCamera;
    episode.manifest = StartManifest(kind, "ros2", episode.skipped_count, notes, options_);
    episode.manifest.step_count = static_cast<int>(steps().size());
    episode.manifest.step_duration_s = 1e-9 * static_cast<double>(found_steps_.step_ns);
    episode.manifest.world_frame_name = world();
    AddCameras(&episode);
    if (joints_) INTERLACER_RETURN_IF_ERROR(AddJoints(&episode));
    episode.findings = bag_.findings();
    episode.findings.insert(episode.findings.end(), found_.findings.begin(), found_.findings.end());
    if (!found_steps_.left_out.empty()) {
      episode.findings.push_back({"STEPS_LEFT_OUT", found_steps_.left_out, "source"});
    }
    if (exported_) {
      if (options_.bag.are_frames_steps) {
        episode.manifest.step_duration_s = exported_->manifest.step_duration_s;
      }
      Restore(*exported_, given_, IsChanged(episode), &episode, &choices_);
    }
    episode.read_frame = [this](int step, int camera) { return ReadFrame(step, camera); };
    return episode;
  }

  void AddCameras(RecordedEpisode* episode) const {
    for (std::size_t c = 0; c < found_.cameras.size(); ++c) {
      const BagCamera& source = found_.cameras[c];
      EpisodeCamera camera;
      camera.name = source.name;
      camera.camera = source.camera;
      camera.camera.world_from_camera = steps().front().poses[c];
      camera.depth_unit_m = source.depth_unit_m;
      episode->manifest.cameras.push_back(std::move(camera));
      const Transform& first = steps().front().poses[c];
      const bool moves = std::any_of(steps().begin(), steps().end(), [&](const BagStep& step) {
        return DistanceM(step.poses[c].translation_m, first.translation_m) > kSamePlaceM ||
               TurnRad(step.poses[c], first) > kSameDirection;
      });
      auto& poses = episode->poses.emplace_back();
      if (!moves) continue;
      for (const BagStep& step : steps()) poses.push_back(step.poses[c]);
    }
    for (const BagStep& step : steps()) {
      for (std::size_t c = 0; c < found_.cameras.size(); ++c) {
        const BagCamera& camera = found_.cameras[c];
        episode->capture_times_ns.push_back(
            camera.times_ns[static_cast<std::size_t>(step.frames[c])]);
      }
    }
  }

  Status AddJoints(RecordedEpisode* episode) const {
    INTERLACER_RETURN_IF_ERROR(AddRobot(joints_->robot(), episode));
    RobotInfo& info = *episode->manifest.robot;
    if (exported_ && exported_->manifest.robot &&
        exported_->manifest.robot->folder_sha256 == info.folder_sha256) {
      info = *exported_->manifest.robot;
      info.folder = kRobotFolder;
    }
    for (NumberTable* table : {&episode->states, &episode->actions}) {
      table->row_count = static_cast<std::int64_t>(steps().size());
      table->column_count = static_cast<std::int64_t>(joints_->robot().columns.size());
    }
    for (const BagStep& step : steps()) {
      auto& states = episode->states.values;
      auto& actions = episode->actions.values;
      states.insert(states.end(), step.state.begin(), step.state.end());
      actions.insert(actions.end(), step.action.begin(), step.action.end());
    }
    return Status::Ok();
  }

  StatusOr<RecordedFrame> ReadFrame(int step, int camera_index) const {
    const BagCamera& camera = found_.cameras[static_cast<std::size_t>(camera_index)];
    const int frame_index =
        steps()[static_cast<std::size_t>(step)].frames[static_cast<std::size_t>(camera_index)];
    const BagFrame& frame = camera.frames[static_cast<std::size_t>(frame_index)];
    const auto at = [&](const BagTopic& topic, std::int64_t stamp_ns, Status status) {
      return std::move(status).WithFieldPrefix(topic.topic.name + " at " + SecondsText(stamp_ns) +
                                               " s: ");
    };
    RecordedFrame read;
    {
      const BagImage& image = camera.color->images[static_cast<std::size_t>(frame.color)];
      INTERLACER_ASSIGN_OR_RETURN(const auto loaded, bag_.Load(*camera.color, image));
      auto color = ColorOf(loaded.image);
      if (!color.ok()) return at(*camera.color, image.stamp_ns, color.status());
      read.color = *std::move(color);
    }
    const BagImage& image = camera.depth->images[static_cast<std::size_t>(frame.depth)];
    INTERLACER_ASSIGN_OR_RETURN(const auto loaded, bag_.Load(*camera.depth, image));
    auto depth = DepthOf(loaded.image, camera.depth_unit_m);
    if (!depth.ok()) return at(*camera.depth, image.stamp_ns, depth.status());
    read.depth = *std::move(depth);
    return read;
  }

  const ImportOptions& given_;
  ImportOptions options_;  ///< with what an export says
  BagIndex bag_;
  std::optional<ExportedEpisode> exported_;
  std::vector<std::string> choices_;
  BagCameras found_;
  std::optional<BagJoints> joints_;
  std::optional<BagEndEffectors> ends_;
  BagSteps found_steps_;
};

}  // namespace

StatusOr<ImportReport> ImportRos2(const ImportOptions& options) {
  if (options.frame_stride < 1) {
    return Mismatch(reason::ARGUMENT_INVALID, "frame_stride", "at least 1",
                    std::to_string(options.frame_stride));
  }
  for (const auto* list : {&options.bag.color, &options.bag.depth, &options.bag.camera_info}) {
    for (const NamedTopic& named : *list) {
      if (IsValidName(named.name)) continue;
      return Mismatch(reason::ARGUMENT_INVALID, "NAME=TOPIC",
                      "a name of 1 to 64 of A-Z a-z 0-9 . _ -", named.name);
    }
  }
  INTERLACER_ASSIGN_OR_RETURN(BagIndex bag, BagIndex::Read(options.source_dir, options.stop));
  return BagImport(options, std::move(bag)).Run();
}

}  // namespace interlacer
