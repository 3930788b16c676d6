#include <cmath>
#include <utility>

#include "data/sim/mujoco_trial.h"
#include "data/sim/push_block.h"
#include "data/sim/task_geometry.h"

namespace interlacer::sim {
namespace {

// The blind push.
constexpr double kBehindM = 0.20;  // of the middle of the table
constexpr double kBeforeGoalM = 0.05;
constexpr double kSpeedM = 0.12;  // per step

class PushTrial final : public MujocoTrial {
 public:
  static StatusOr<std::unique_ptr<Trial>> Make(const SimulateOptions& options);

  bool IsOfObject(const Vec3d&) const override { return true; }
  bool CanBring(const Vec3d&) const override { return true; }
  std::vector<TrialMotion> Propose(int count, int step_count, std::uint64_t seed) const override;
  StatusOr<TrialMotion> Blind(const Vec3d& goal_m, int step_count) const override;

 private:
  PushTrial(TrialParts parts, const PushBlock& script)
      : MujocoTrial(std::move(parts), script.tools()), script_(script) {}

  PushBlock script_;
};

StatusOr<std::unique_ptr<Trial>> PushTrial::Make(const SimulateOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(TrialParts parts, DrawTrial(options));
  const auto* const script = dynamic_cast<const PushBlock*>(parts.draw.task.get());
  if (script == nullptr) {
    return Mismatch(reason::ARGUMENT_INVALID, "task", "push_block", options.task);
  }
  const PushBlock first_script = *script;
  std::unique_ptr<PushTrial> trial(new PushTrial(std::move(parts), first_script));
  INTERLACER_RETURN_IF_ERROR(trial->Begin());
  return std::unique_ptr<Trial>(std::move(trial));
}

/// A push knows where the block is.
std::vector<TrialMotion> PushTrial::Propose(int count, int step_count, std::uint64_t seed) const {
  return DrawMotions(count, seed, [&](RandomSequence random) {
    PushBlock script = script_;
    script.Interrupt(tools());
    script.Redraw(random);
    return MotionOf(step_count, [&] { return script.Next(newest().world_from_object); });
  });
}

/// Down behind the middle of the table and straight to half a block before the goal.
StatusOr<TrialMotion> PushTrial::Blind(const Vec3d& goal_m, int step_count) const {
  const double angle_rad = std::atan2(goal_m[1], goal_m[0]);
  const Vec3d from_m = Along({0, 0, kPushHeightM}, angle_rad, -kBehindM);
  Vec3d to_m = Along(goal_m, angle_rad, -kBeforeGoalM);
  to_m[2] = kPushHeightM;
  int arm = 0;
  while (arm + 1 < setup().arm_count &&
         !(InReach(setup(), arm, from_m) && InReach(setup(), arm, to_m))) {
    ++arm;
  }
  ToolPath path(tools()[arm]);
  ToolTarget goal{from_m, FoldYaw(angle_rad), kPushOpeningM};
  goal.position_m[2] = kLiftedHeightM;
  path.MoveTo(goal, kSpeedM);
  goal.position_m[2] = kPushHeightM;
  path.MoveTo(goal, kSpeedM);
  goal.position_m = to_m;
  path.MoveTo(goal, kSpeedM);
  return MotionOf(step_count, arm, std::move(path));
}

}  // namespace

StatusOr<std::unique_ptr<Trial>> MakePushTrial(const SimulateOptions& options) {
  return PushTrial::Make(options);
}

}  // namespace interlacer::sim
