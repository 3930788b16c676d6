#include <cmath>
#include <optional>
#include <utility>

#include "common/transforms.h"
#include "data/sim/can.h"
#include "data/sim/move_can.h"
#include "data/sim/mujoco_trial.h"
#include "data/sim/task_geometry.h"

namespace interlacer::sim {
namespace {

constexpr double kSkinM = 0.004;  // what is seen so near to the can's surface counts as the can

// The blind grasp: for a can in the middle of its sizes and of the table.
constexpr double kMiddleRadiusM = 0.03, kMiddleGripM = 0.06, kMiddleAboveM = 0.15;
constexpr double kSpeedM = 0.12;  // per step

class LiftTrial final : public MujocoTrial {
 public:
  static StatusOr<std::unique_ptr<Trial>> Make(const SimulateOptions& options);

  bool IsOfObject(const Vec3d& point_m) const override;
  bool CanBring(const Vec3d& goal_m) const override;
  std::vector<TrialMotion> Propose(int count, int step_count, std::uint64_t seed) const override;
  StatusOr<TrialMotion> Blind(const Vec3d& goal_m, int step_count) const override;
  void Execute(const TrialMotion& motion) override;

 private:
  LiftTrial(TrialParts parts, ToolTargets tools)
      : MujocoTrial(std::move(parts), std::move(tools)) {}

  double half_height_m() const { return object().half_size_m[2]; }
  CanSize can() const { return {object().half_size_m[0], half_height_m()}; }
  /// Mean of the can's points that the cameras show; absent where they show none.
  std::optional<Vec3d> Seen() const;

  Vec3d seen_m_{};  ///< newest place of the can that cameras showed
};

StatusOr<std::unique_ptr<Trial>> LiftTrial::Make(const SimulateOptions& options) {
  if (options.task != "lift_can") {
    return Mismatch(reason::ARGUMENT_INVALID, "task", "lift_can", options.task);
  }
  INTERLACER_ASSIGN_OR_RETURN(TrialParts parts, DrawTrial(options));
  ToolTargets tools = static_cast<const MoveCan&>(*parts.draw.task).tools();
  std::unique_ptr<LiftTrial> trial(new LiftTrial(std::move(parts), std::move(tools)));
  INTERLACER_RETURN_IF_ERROR(trial->Begin());
  const std::optional<Vec3d> seen_m = trial->Seen();
  if (!seen_m) return Internal("no camera shows the can of this seed");
  trial->seen_m_ = *seen_m;
  return std::unique_ptr<Trial>(std::move(trial));
}

std::optional<Vec3d> LiftTrial::Seen() const {
  Vec3d sum_m{};
  int count = 0;
  for (std::size_t c = 0; c < cameras().size(); ++c) {
    const SimulatedView& view = newest().views[c];
    const int width_px = view.depth.width_px;
    for (std::size_t i = 0; i < view.mask.size(); ++i) {
      if (view.mask[i] != kMaskFirstObject || view.depth.pixels[i] == 0) continue;
      const int pixel = static_cast<int>(i);
      const Vec3d point_m = Unproject(cameras()[c].camera, pixel % width_px, pixel / width_px,
                                      view.depth.pixels[i] * view.depth.unit_m);
      for (int axis = 0; axis < 3; ++axis) sum_m[axis] += point_m[axis];
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  for (double& value : sum_m) value /= count;
  return sum_m;
}

bool LiftTrial::IsOfObject(const Vec3d& point_m) const {
  const Vec3d local_m = Apply(Inverse(ObjectPose()), point_m);
  return std::hypot(local_m[0], local_m[1]) <= object().half_size_m[0] + kSkinM &&
         std::abs(local_m[2]) <= half_height_m() + kSkinM;
}

bool LiftTrial::CanBring(const Vec3d& goal_m) const {
  if (!InCanArea(goal_m)) return false;
  for (int arm = 0; arm < setup().arm_count; ++arm) {
    if (InReach(setup(), arm, ObjectM()) && InReach(setup(), arm, goal_m)) return true;
  }
  return false;
}

std::vector<TrialMotion> LiftTrial::Propose(int count, int step_count, std::uint64_t seed) const {
  return DrawMotions(count, seed, [&](RandomSequence random) -> StatusOr<TrialMotion> {
    const std::optional<ArmPath> drawn = DrawGraspOrCarry(setup(), can(), seen_m_, tools(), random);
    if (drawn) return MotionOf(step_count, drawn->arm, drawn->path);
    return Mismatch(reason::ACTION_OUT_OF_RANGE, "place", "one in reach", "another");
  });
}

/// A grasp at the middle of the table, and on to the goal.
StatusOr<TrialMotion> LiftTrial::Blind(const Vec3d& goal_m, int step_count) const {
  int arm = 0;
  while (arm + 1 < setup().arm_count && !InReach(setup(), arm, goal_m)) ++arm;
  CanGrasp grasp;
  grasp.above_m = kMiddleAboveM;
  grasp.grip_m = kMiddleGripM;
  grasp.carry_m = goal_m[2];
  grasp.open_m = setup().model->max_opening_m;
  grasp.closed_m = HoldingOpeningM(*setup().model, kMiddleRadiusM);
  ToolPath path(tools()[arm]);
  AppendGrasp(grasp, kSpeedM, &path);
  ToolTarget goal = path.end();
  goal.position_m = goal_m;
  path.MoveTo(goal, kSpeedM);
  return MotionOf(step_count, arm, std::move(path));
}

void LiftTrial::Execute(const TrialMotion& motion) {
  MujocoTrial::Execute(motion);
  seen_m_ = Seen().value_or(seen_m_);
}

}  // namespace

StatusOr<std::unique_ptr<Trial>> MakeLiftTrial(const SimulateOptions& options) {
  return LiftTrial::Make(options);
}

StatusOr<std::unique_ptr<Trial>> MakeTrial(const SimulateOptions& options) {
  if (options.task == "push_block") return MakePushTrial(options);
  if (options.task == "lift_can") return MakeLiftTrial(options);
  return Mismatch(reason::ARGUMENT_INVALID, "task", "push_block or lift_can", options.task);
}

}  // namespace interlacer::sim
