#include "data/importers/bag_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/duration.h"
#include "common/transforms.h"
#include "data/importers/bag_world.h"
#include "data/importers/match_times.h"
#include "data/manifest.h"
#include "robots/forward_kinematics.h"

namespace interlacer {
namespace {

constexpr double kRobotStepDurationS = 0.5;
/// A camera's spacing varies a little.
constexpr double kLeastStepShare = 0.9;

class StepFinder {
 public:
  StepFinder(const BagSources& sources, const ImportOptions& options)
      : sources_(sources), options_(options) {}

  StatusOr<BagSteps> Run() {
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::int64_t> moments, Moments());
    INTERLACER_RETURN_IF_ERROR(FindSteps(moments));
    INTERLACER_RETURN_IF_ERROR(ReachGoals());
    return std::move(found_);
  }

 private:
  const std::vector<BagCamera>& cameras() const { return sources_.cameras.cameras; }
  const BagJoints* joints() const { return sources_.joints; }
  const std::string& world() const { return options_.bag.world_frame; }

  /// How far an image may lie from its moment. A single moment has no spacing.
  std::int64_t SlackNs(const BagCamera& camera) const {
    const bool is_snapshot = camera.times_ns.size() == 1 && cameras().front().times_ns.size() == 1;
    return is_snapshot ? 2 * kMaxBagGapNs : camera.spacing_ns;
  }

  /// The moments that may become steps.
  StatusOr<std::vector<std::int64_t>> Moments() {
    const BagCamera& base = cameras().front();
    if (options_.bag.are_frames_steps) {
      found_.step_ns = ToNanoseconds(*options_.bag.step_duration_s);
      return base.times_ns;
    }
    std::int64_t first_ns = base.times_ns.front(), last_ns = base.times_ns.back();
    for (const BagCamera& camera : cameras()) {
      first_ns = std::max(first_ns, camera.times_ns.front() - SlackNs(camera) / 2);
      last_ns = std::min(last_ns, camera.times_ns.back() + SlackNs(camera) / 2);
    }
    if (joints()) {
      first_ns = std::max(first_ns, joints()->first_ns());
      last_ns = std::min(last_ns, joints()->last_ns());
    }
    const auto begin = std::lower_bound(base.times_ns.begin(), base.times_ns.end(), first_ns);
    if (begin == base.times_ns.end() || *begin > last_ns) {
      return Mismatch(reason::TIMESTAMP_INVALID, "source",
                      "cameras and joints that overlap in time; all have data from " +
                          SecondsText(first_ns) + " s on",
                      "data to " + SecondsText(last_ns) + " s");
    }
    std::vector<std::int64_t> moments;
    const bool is_grid = joints() != nullptr || options_.bag.step_duration_s;
    if (!is_grid) {
      for (auto time = begin; time < base.times_ns.end() && *time <= last_ns;
           time += std::min<std::ptrdiff_t>(options_.frame_stride, base.times_ns.end() - time)) {
        moments.push_back(*time);
      }
      found_.step_ns = std::max<std::int64_t>(base.spacing_ns, 1) * options_.frame_stride;
      if (base.spacing_ns == 0) found_.step_ns = kNanosecondsPerSecond;
      return moments;
    }
    found_.step_ns = ToNanoseconds(options_.bag.step_duration_s.value_or(kRobotStepDurationS)) *
                     options_.frame_stride;
    for (const BagCamera& camera : cameras()) {
      if (static_cast<double>(found_.step_ns) >=
          kLeastStepShare * static_cast<double>(camera.spacing_ns)) {
        continue;
      }
      return Mismatch(reason::ARGUMENT_INVALID, "--step-duration",
                      "at least the spacing of the images of " + camera.name + ", " +
                          SecondsText(camera.spacing_ns) + " s",
                      SecondsText(found_.step_ns) + " s");
    }
    // A clock that was set while recording makes ages of steps, of which few have data.
    const std::int64_t count = (last_ns - *begin) / found_.step_ns + 1;
    if (count > kMaxStepCount) {
      return Mismatch(reason::TIMESTAMP_INVALID, base.color->topic.name,
                      "at most " + std::to_string(kMaxStepCount) +
                          " steps; was the clock set while this was recorded? Cut the recording "
                          "there",
                      std::to_string(count) + ", from " + SecondsText(*begin) + " s to " +
                          SecondsText(last_ns) + " s");
    }
    for (std::int64_t i = 0; i < count; ++i) moments.push_back(*begin + i * found_.step_ns);
    return moments;
  }

  /// All that belongs to a moment, or why something is missing.
  StatusOr<BagStep> StepAt(std::size_t number, std::int64_t moment_ns) const {
    BagStep step;
    std::int64_t state_time_ns = moment_ns;
    for (const BagCamera& camera : cameras()) {
      const bool is_of_frames = options_.bag.are_frames_steps;
      const int frame =
          is_of_frames ? static_cast<int>(number) : NearestTime(camera.times_ns, moment_ns);
      const std::int64_t time_ns = camera.times_ns[frame];
      // One lost image is borne with, more are a gap.
      const std::int64_t limit_ns = std::max<std::int64_t>(SlackNs(camera), 1);
      if (!is_of_frames && std::abs(time_ns - moment_ns) > limit_ns) {
        return NotFound(reason::TIMESTAMP_INVALID,
                        "no image of " + camera.name + " near " + SecondsText(moment_ns) + " s");
      }
      step.frames.push_back(frame);
      INTERLACER_ASSIGN_OR_RETURN(const Transform pose, PoseAt(camera, time_ns));
      step.poses.push_back(pose);
      if (step.frames.size() == 1) state_time_ns = time_ns;
    }
    if (!joints()) return step;
    const auto state = joints()->StateAt(state_time_ns, kMaxBagGapNs);
    const auto action = joints()->has_commands() ? joints()->CommandAt(state_time_ns) : state;
    if (!state || !action) {
      return NoReading(state_time_ns);
    }
    step.state = *state;
    step.action = *action;
    if (sources_.end_effectors == nullptr) return step;
    INTERLACER_ASSIGN_OR_RETURN(step.goals, sources_.end_effectors->GoalsAt(state_time_ns));
    return step;
  }

  /// Joints of the steps that are kept.
  Status ReachGoals() {
    if (sources_.end_effectors == nullptr) return Status::Ok();
    std::vector<std::int64_t> numbers;
    std::vector<std::vector<double>> measured;
    std::vector<std::vector<Transform>> goals;
    for (BagStep& step : found_.steps) {
      numbers.push_back(std::ssize(numbers));
      measured.push_back(std::move(step.state));
      goals.push_back(std::move(step.goals));
    }
    INTERLACER_ASSIGN_OR_RETURN(auto rows, sources_.end_effectors->joints().Solve(
                                               numbers, std::move(measured), goals, options_.stop));
    for (std::size_t s = 0; s < found_.steps.size(); ++s) {
      found_.steps[s].state = std::move(rows[s]);
      if (!joints()->has_commands()) found_.steps[s].action = found_.steps[s].state;
    }
    return Status::Ok();
  }

  StatusOr<Transform> PoseAt(const BagCamera& camera, std::int64_t time_ns) const {
    if (!IsPlaced(camera)) {
      const std::string& frame_id = camera.color->frame_id;
      if (frame_id == world()) return Transform();
      return sources_.bag.frames().At(world(), frame_id, time_ns, kMaxBagGapNs);
    }
    const CameraCalibration& calibration = *camera.calibration;
    if (calibration.has_pose) return calibration.camera.world_from_camera;
    const auto row = joints()->StateAt(time_ns, kMaxBagGapNs);
    if (!row) return NoReading(time_ns);
    const auto link = static_cast<std::size_t>(FindLink(joints()->robot(), calibration.link));
    return Compose(LinkPoses(joints()->robot(), *row)[link], calibration.link_from_camera);
  }

  static Status NoReading(std::int64_t time_ns) {
    return NotFound(reason::TIMESTAMP_INVALID,
                    "no reading of all joints within 0.25 s around " + SecondsText(time_ns) + " s");
  }

  /// The longest run of moments without a gap.
  Status FindSteps(const std::vector<std::int64_t>& moments) {
    std::vector<BagStep> run;
    Status first_problem;
    const bool may_skip = !joints() && !options_.bag.step_duration_s;
    for (std::size_t number = 0; number < moments.size(); ++number) {
      auto step = StepAt(number, moments[number]);
      // Nor does one image serve two steps.
      const bool is_repeated = step.ok() && !run.empty() && run.back().frames == step->frames;
      if (step.ok() && !is_repeated) {
        run.push_back(*std::move(step));
        continue;
      }
      if (first_problem.ok() && !step.ok()) first_problem = step.status();
      if (may_skip) continue;
      if (run.size() > found_.steps.size()) std::swap(found_.steps, run);
      run.clear();
    }
    if (run.size() > found_.steps.size()) std::swap(found_.steps, run);
    found_.left_out_count = static_cast<int>(moments.size() - found_.steps.size());
    if (found_.steps.empty()) return first_problem.WithField("source");
    if (found_.left_out_count == 0) return Status::Ok();
    found_.left_out = std::to_string(found_.left_out_count) + " of " +
                      std::to_string(moments.size()) + " steps were left out" +
                      (may_skip ? "" : "; the longest run without a gap is kept") +
                      (first_problem.ok() ? "" : "; the first: " + first_problem.message());
    return Status::Ok();
  }

  const BagSources& sources_;
  const ImportOptions& options_;
  BagSteps found_;
};

}  // namespace

std::string SecondsText(std::int64_t time_ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", 1e-9 * static_cast<double>(time_ns));
  return text;
}

StatusOr<BagSteps> FindBagSteps(const BagSources& sources, const ImportOptions& options) {
  return StepFinder(sources, options).Run();
}

}  // namespace interlacer
