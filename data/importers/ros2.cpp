#include "data/importers/ros2.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/duration.h"
#include "common/number_text.h"
#include "common/transforms.h"
#include "data/importers/bag_cameras.h"
#include "data/importers/bag_joints.h"
#include "data/importers/end_effector_joints.h"
#include "data/importers/joint_columns.h"
#include "data/importers/match_times.h"
#include "data/importers/write_episode.h"
#include "data/manifest.h"
#include "robots/forward_kinematics.h"
#include "robots/robot_folder.h"

namespace interlacer {
namespace {

/// Between transforms and between joint readings; longer ones are gaps.
constexpr std::int64_t kMaxGapNs = 250'000'000;
constexpr double kRobotStepDurationS = 0.5;
/// A camera's spacing varies a little.
constexpr double kLeastStepShare = 0.9;
/// Poses of a camera that stands still, which were computed each time.
constexpr double kSamePlaceM = 1e-6;
constexpr double kSameDirection = 1e-6;
/// Of the robot's base in tf and in its folder.
constexpr double kMaxBaseOffsetM = 0.005;
constexpr double kMaxBaseTurnRad = 0.5 * std::numbers::pi / 180;

/// One step with all that belongs to it.
struct Step {
  std::vector<int> frames;       ///< [cameras]
  std::vector<Transform> poses;  ///< [cameras] world_from_camera
  std::vector<Transform> goals;  ///< [end effectors] world_from_link, of those without joints
  std::vector<double> state, action;
};

double AngleBetweenRad(const Transform& a, const Transform& b) {
  double dot = 0;
  for (std::size_t i = 0; i < 4; ++i) dot += a.rotation_xyzw[i] * b.rotation_xyzw[i];
  return 2 * std::acos(std::min(1.0, std::abs(dot)));
}

std::string SecondsText(std::int64_t time_ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", 1e-9 * static_cast<double>(time_ns));
  return text;
}

/// Whether the calibration file says where the camera is.
bool IsPlaced(const BagCamera& camera) {
  return camera.calibration && (camera.calibration->has_pose || !camera.calibration->link.empty());
}

/// The world frame, from which every camera can be reached.
Status CheckWorldFrame(const BagIndex& bag, const BagCameras& found, const std::string& world) {
  const FrameTree& frames = bag.frames();
  std::string roots;
  for (const std::string& root : frames.Roots()) roots += (roots.empty() ? "" : ", ") + root;
  const std::string& camera_frame = found.cameras.front().color->frame_id;
  const std::string expected =
      roots.empty() ? "a frame; the recording has no transforms, with a single camera its own "
                      "frame can be the world: " +
                          camera_frame
                    : "a frame of the recording's transforms, such as their root: " + roots;
  if (world.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--world-frame", expected, "none");
  }
  for (const BagCamera& camera : found.cameras) {
    if (camera.color->frame_id == world || IsPlaced(camera)) continue;
    const Status way = frames.CheckWay(camera.color->frame_id, world);
    if (way.ok()) continue;
    return Mismatch(reason::ARGUMENT_INVALID, "--world-frame", expected,
                    world + ": " + way.message());
  }
  return Status::Ok();
}

/// The robot of the folder stands where the recording's transforms say, if they know its root.
Status CheckBase(const BagIndex& bag, const Robot& robot, const std::string& world,
                 std::int64_t time_ns) {
  const RobotLink& root = robot.links.front();
  if (root.name == world || !bag.frames().Has(root.name)) return Status::Ok();
  const auto world_from_root = bag.frames().At(world, root.name, time_ns, kMaxGapNs);
  if (!world_from_root.ok()) return Status::Ok();  // another tree: it says nothing of this one
  const Transform& folder = root.joint.parent_from_joint;
  const double offset_m = DistanceM(folder.translation_m, world_from_root->translation_m);
  const double turn_rad = AngleBetweenRad(folder, *world_from_root);
  if (offset_m <= kMaxBaseOffsetM && turn_rad <= kMaxBaseTurnRad) return Status::Ok();
  const auto& t = world_from_root->translation_m;
  const auto& q = world_from_root->rotation_xyzw;
  std::string pose;
  for (const double value : {t[0], t[1], t[2], q[0], q[1], q[2], q[3]}) {
    pose += (pose.empty() ? "" : ",") + NumberText(value);
  }
  return Mismatch(reason::CALIBRATION_INVALID, "--robot",
                  "a robot whose " + root.name + " stands in " + world +
                      " where the transforms say: x,y,z,qx,qy,qz,qw " + pose +
                      "; make the folder with that pose, or name its frame as --world-frame",
                  NumberText(offset_m) + " m and " + NumberText(turn_rad) + " rad away");
}

class BagImport {
 public:
  BagImport(const ImportOptions& options, BagIndex bag) : options_(options), bag_(std::move(bag)) {}

  StatusOr<ImportReport> Run() {
    INTERLACER_ASSIGN_OR_RETURN(found_, FindCameras(bag_, options_));
    INTERLACER_RETURN_IF_ERROR(CheckWorldFrame(bag_, found_, world()));
    INTERLACER_RETURN_IF_ERROR(FindRobot());
    INTERLACER_RETURN_IF_ERROR(CheckLinks());
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::int64_t> moments, Moments());
    INTERLACER_RETURN_IF_ERROR(FindSteps(moments));
    INTERLACER_RETURN_IF_ERROR(ReachGoals());
    if (joints_) {
      const BagCamera& first = found_.cameras.front();
      INTERLACER_RETURN_IF_ERROR(CheckBase(bag_, joints_->robot(), world(),
                                           first.frames[steps_.front().frames.front()].time_ns));
    }
    INTERLACER_ASSIGN_OR_RETURN(RecordedEpisode episode, MakeEpisode());
    INTERLACER_ASSIGN_OR_RETURN(ImportReport report, WriteEpisode(std::move(episode), options_));
    report.choices = found_.choices;
    if (joints_) {
      report.choices.insert(report.choices.end(), joints_->choices().begin(),
                            joints_->choices().end());
    }
    return report;
  }

 private:
  const std::string& world() const { return options_.bag.world_frame; }

  Status FindRobot() {
    if (options_.bag.robot_dir.empty()) {
      if (!options_.bag.joints.empty() || !options_.bag.commands.empty() ||
          !options_.bag.end_effectors.empty()) {
        return Mismatch(reason::ARGUMENT_INVALID, "--robot",
                        "the folder of the robot whose joints these are", "none");
      }
      return Status::Ok();
    }
    INTERLACER_ASSIGN_OR_RETURN(Robot robot, ReadRobot(options_.bag.robot_dir));
    INTERLACER_ASSIGN_OR_RETURN(
        joints_,
        BagJoints::Find(bag_, options_.bag, std::make_shared<const Robot>(std::move(robot))));
    if (options_.bag.end_effectors.empty()) return Status::Ok();
    INTERLACER_ASSIGN_OR_RETURN(
        solved_, EndEffectorJoints::Make(joints_->shared_robot(), options_.bag.end_effectors,
                                         joints_->measured()));
    for (const EndEffector& end : solved_->end_effectors()) {
      for (const std::string& frame : {end.position_source, end.rotation_source}) {
        const Status way = frame == world() ? Status::Ok() : bag_.frames().CheckWay(frame, world());
        if (!way.ok()) {
          return Mismatch(reason::ARGUMENT_INVALID, "--inverse-kinematics",
                          "FRAME=LINK: a frame of the recording's transforms",
                          frame + ": " + way.message());
        }
      }
    }
    return Status::Ok();
  }

  /// The moments that may become steps.
  StatusOr<std::vector<std::int64_t>> Moments() {
    const BagCamera& base = found_.cameras.front();
    std::int64_t first_ns = base.times_ns.front(), last_ns = base.times_ns.back();
    for (const BagCamera& camera : found_.cameras) {
      first_ns = std::max(first_ns, camera.times_ns.front() - camera.spacing_ns / 2);
      last_ns = std::min(last_ns, camera.times_ns.back() + camera.spacing_ns / 2);
    }
    if (joints_) {
      first_ns = std::max(first_ns, joints_->first_ns());
      last_ns = std::min(last_ns, joints_->last_ns());
    }
    const auto begin = std::lower_bound(base.times_ns.begin(), base.times_ns.end(), first_ns);
    if (begin == base.times_ns.end() || *begin > last_ns) {
      return Mismatch(reason::TIMESTAMP_INVALID, "source",
                      "cameras and joints that overlap in time; all have data from " +
                          SecondsText(first_ns) + " s on",
                      "data to " + SecondsText(last_ns) + " s");
    }
    std::vector<std::int64_t> moments;
    const bool is_grid = joints_ || options_.bag.step_duration_s;
    if (!is_grid) {
      for (auto time = begin; time < base.times_ns.end() && *time <= last_ns;
           time += std::min<std::ptrdiff_t>(options_.frame_stride, base.times_ns.end() - time)) {
        moments.push_back(*time);
      }
      step_ns_ = std::max<std::int64_t>(base.spacing_ns, 1) * options_.frame_stride;
      if (base.spacing_ns == 0) step_ns_ = kNanosecondsPerSecond;
      return moments;
    }
    step_ns_ = ToNanoseconds(options_.bag.step_duration_s.value_or(kRobotStepDurationS)) *
               options_.frame_stride;
    for (const BagCamera& camera : found_.cameras) {
      if (static_cast<double>(step_ns_) >=
          kLeastStepShare * static_cast<double>(camera.spacing_ns)) {
        continue;
      }
      return Mismatch(reason::ARGUMENT_INVALID, "--step-duration",
                      "at least the spacing of the images of " + camera.name + ", " +
                          SecondsText(camera.spacing_ns) + " s",
                      SecondsText(step_ns_) + " s");
    }
    for (std::int64_t time = *begin; time <= last_ns; time += step_ns_) moments.push_back(time);
    return moments;
  }

  /// All that belongs to a moment, or why something is missing.
  StatusOr<Step> StepAt(std::int64_t moment_ns) const {
    Step step;
    std::int64_t state_time_ns = moment_ns;
    for (const BagCamera& camera : found_.cameras) {
      const int frame = NearestTime(camera.times_ns, moment_ns);
      const std::int64_t time_ns = camera.times_ns[frame];
      // One lost image is borne with, more are a gap.
      const std::int64_t limit_ns = std::max<std::int64_t>(camera.spacing_ns, 1);
      if (std::abs(time_ns - moment_ns) > limit_ns) {
        return NotFound(reason::TIMESTAMP_INVALID,
                        "no image of " + camera.name + " near " + SecondsText(moment_ns) + " s");
      }
      step.frames.push_back(frame);
      INTERLACER_ASSIGN_OR_RETURN(const Transform pose, PoseAt(camera, time_ns));
      step.poses.push_back(pose);
      if (step.frames.size() == 1) state_time_ns = time_ns;
    }
    if (!joints_) return step;
    const auto state = joints_->StateAt(state_time_ns, kMaxGapNs);
    const auto action = joints_->has_commands() ? joints_->CommandAt(state_time_ns) : state;
    if (!state || !action) {
      return NoReading(state_time_ns);
    }
    step.state = *state;
    step.action = *action;
    if (!solved_) return step;
    for (const EndEffector& end : solved_->end_effectors()) {
      const FrameTree& frames = bag_.frames();
      INTERLACER_ASSIGN_OR_RETURN(
          Transform goal, frames.At(world(), end.position_source, state_time_ns, kMaxGapNs));
      INTERLACER_ASSIGN_OR_RETURN(const Transform turned, frames.At(world(), end.rotation_source,
                                                                    state_time_ns, kMaxGapNs));
      goal.rotation_xyzw = turned.rotation_xyzw;
      step.goals.push_back(goal);
    }
    return step;
  }

  /// Joints of the steps that are kept.
  Status ReachGoals() {
    if (!solved_) return Status::Ok();
    std::vector<std::int64_t> numbers;
    std::vector<std::vector<double>> measured;
    std::vector<std::vector<Transform>> goals;
    for (Step& step : steps_) {
      numbers.push_back(std::ssize(numbers));
      measured.push_back(std::move(step.state));
      goals.push_back(std::move(step.goals));
    }
    INTERLACER_ASSIGN_OR_RETURN(auto rows,
                                solved_->Solve(numbers, std::move(measured), goals, options_.stop));
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      steps_[s].state = std::move(rows[s]);
      if (!joints_->has_commands()) steps_[s].action = steps_[s].state;
    }
    return Status::Ok();
  }

  StatusOr<Transform> PoseAt(const BagCamera& camera, std::int64_t time_ns) const {
    if (!IsPlaced(camera)) {
      const std::string& frame_id = camera.color->frame_id;
      if (frame_id == world()) return Transform();
      return bag_.frames().At(world(), frame_id, time_ns, kMaxGapNs);
    }
    const CameraCalibration& calibration = *camera.calibration;
    if (calibration.has_pose) return calibration.camera.world_from_camera;
    const auto joints = joints_->StateAt(time_ns, kMaxGapNs);
    if (!joints) return NoReading(time_ns);
    const auto link = static_cast<std::size_t>(FindLink(joints_->robot(), calibration.link));
    return Compose(LinkPoses(joints_->robot(), *joints)[link], calibration.link_from_camera);
  }

  static Status NoReading(std::int64_t time_ns) {
    return NotFound(reason::TIMESTAMP_INVALID,
                    "no reading of all joints within 0.25 s around " + SecondsText(time_ns) + " s");
  }

  /// Links that carry cameras must be the robot's.
  Status CheckLinks() const {
    for (const BagCamera& camera : found_.cameras) {
      if (!camera.calibration || camera.calibration->link.empty()) continue;
      INTERLACER_RETURN_IF_ERROR(
          CheckLink(joints_ ? &joints_->robot() : nullptr, *camera.calibration));
      if (!solved_) continue;
      return Mismatch(reason::ARGUMENT_INVALID, "--calibration",
                      "with --inverse-kinematics cameras that stand, or that the recording's "
                      "transforms place",
                      camera.name + " on link " + camera.calibration->link);
    }
    return Status::Ok();
  }

  /// The longest run of moments without a gap.
  Status FindSteps(const std::vector<std::int64_t>& moments) {
    std::vector<Step> run;
    Status first_problem;
    const bool may_skip = !joints_ && !options_.bag.step_duration_s;
    for (const std::int64_t moment_ns : moments) {
      auto step = StepAt(moment_ns);
      // Nor does one image serve two steps.
      const bool is_repeated = step.ok() && !run.empty() && run.back().frames == step->frames;
      if (step.ok() && !is_repeated) {
        run.push_back(*std::move(step));
        continue;
      }
      if (first_problem.ok() && !step.ok()) first_problem = step.status();
      if (may_skip) continue;
      if (run.size() > steps_.size()) std::swap(steps_, run);
      run.clear();
    }
    if (run.size() > steps_.size()) std::swap(steps_, run);
    left_out_count_ = static_cast<int>(moments.size() - steps_.size());
    if (steps_.empty()) return first_problem.WithField("source");
    if (left_out_count_ == 0) return Status::Ok();
    left_out_ = std::to_string(left_out_count_) + " of " + std::to_string(moments.size()) +
                " steps were left out" +
                (may_skip ? "" : "; the longest run without a gap is kept") +
                (first_problem.ok() ? "" : "; the first: " + first_problem.message());
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
                          : std::string("actions: the ") + (solved_ ? "" : "measured ") +
                                "joints of the same step; the recording's commands were not named "
                                "(--commands)");
      if (solved_) notes.push_back(solved_->Note());
    }
    episode.skipped_count = found_.unpaired_count + left_out_count_;
    const EpisodeKind kind = joints_              ? EpisodeKind::kManipulation
                             : steps_.size() == 1 ? EpisodeKind::kStaticViews
                                                  : EpisodeKind::kMovingCamera;
    episode.manifest = StartManifest(kind, "ros2", episode.skipped_count, notes, options_);
    episode.manifest.step_count = static_cast<int>(steps_.size());
    episode.manifest.step_duration_s = 1e-9 * static_cast<double>(step_ns_);
    episode.manifest.world_frame_name = world();
    AddCameras(&episode);
    if (joints_) INTERLACER_RETURN_IF_ERROR(AddRobot(&episode));
    episode.findings = bag_.findings();
    if (!left_out_.empty()) episode.findings.push_back({"STEPS_LEFT_OUT", left_out_, "source"});
    episode.read_frame = [this](int step, int camera) { return ReadFrame(step, camera); };
    return episode;
  }

  void AddCameras(RecordedEpisode* episode) const {
    for (std::size_t c = 0; c < found_.cameras.size(); ++c) {
      const BagCamera& source = found_.cameras[c];
      EpisodeCamera camera;
      camera.name = source.name;
      camera.camera = source.camera;
      camera.camera.world_from_camera = steps_.front().poses[c];
      camera.depth_unit_m = source.depth_unit_m;
      episode->manifest.cameras.push_back(std::move(camera));
      const Transform& first = steps_.front().poses[c];
      const bool moves = std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
        return DistanceM(step.poses[c].translation_m, first.translation_m) > kSamePlaceM ||
               AngleBetweenRad(step.poses[c], first) > kSameDirection;
      });
      auto& poses = episode->poses.emplace_back();
      if (!moves) continue;
      for (const Step& step : steps_) poses.push_back(step.poses[c]);
    }
    for (const Step& step : steps_) {
      for (std::size_t c = 0; c < found_.cameras.size(); ++c) {
        const BagCamera& camera = found_.cameras[c];
        episode->capture_times_ns.push_back(
            camera.times_ns[static_cast<std::size_t>(step.frames[c])]);
      }
    }
  }

  Status AddRobot(RecordedEpisode* episode) const {
    INTERLACER_ASSIGN_OR_RETURN(EncodedRobot encoded, EncodeRobot(joints_->robot()));
    RobotInfo info;
    info.model = joints_->robot().name;
    info.folder = "robot";
    info.folder_sha256 = encoded.sha256;
    episode->manifest.robot = std::move(info);
    episode->robot_files = std::move(encoded.files);
    episode->manifest.states = JointColumns(joints_->robot());
    episode->manifest.actions = JointColumns(joints_->robot());
    for (NumberTable* table : {&episode->states, &episode->actions}) {
      table->row_count = static_cast<std::int64_t>(steps_.size());
      table->column_count = static_cast<std::int64_t>(joints_->robot().columns.size());
    }
    for (const Step& step : steps_) {
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
        steps_[static_cast<std::size_t>(step)].frames[static_cast<std::size_t>(camera_index)];
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

  const ImportOptions& options_;
  BagIndex bag_;
  BagCameras found_;
  std::optional<BagJoints> joints_;
  std::optional<EndEffectorJoints> solved_;
  std::int64_t step_ns_ = 0;
  std::vector<Step> steps_;
  int left_out_count_ = 0;
  std::string left_out_;
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
