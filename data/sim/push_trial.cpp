#include "data/sim/push_trial.h"

#include <cmath>
#include <optional>
#include <utility>

#include "common/duration.h"
#include "data/sim/described_robot.h"
#include "data/sim/offscreen.h"
#include "data/sim/push_block.h"
#include "data/sim/scene_draw.h"
#include "data/sim/task_geometry.h"
#include "data/sim/tool_path.h"
#include "data/sim/world.h"

namespace interlacer::sim {
namespace {

constexpr std::uint32_t kMaxSceneDraws = 50;
constexpr double kRestS = 1.0;  // objects come to rest before the first step
constexpr int kTriesAMotion = 8;

// The blind push.
constexpr double kBehindM = 0.20;  // of the middle of the table
constexpr double kBeforeGoalM = 0.05;
constexpr double kSpeedM = 0.12;  // per step

/// Its world stands at the end of what was executed whenever nothing is under way.
class MujocoPushTrial final : public PushTrial {
 public:
  static StatusOr<std::unique_ptr<PushTrial>> Make(const SimulateOptions& options);

  Vec3d BlockM() const override { return seen_.back().world_from_object.front().translation_m; }
  double BlockRadiusM() const override;
  TrialMotion Stay(int step_count) const override;
  std::vector<TrialMotion> Propose(int count, int step_count, std::uint64_t seed) const override;
  StatusOr<TrialMotion> BlindPush(const Vec3d& goal_m, int step_count) const override;
  SceneInput Observe() const override;
  Vec3d Try(const TrialMotion& motion) override;
  void Execute(const TrialMotion& motion) override;
  bool ArmCollided() const override { return has_collided_; }

 private:
  MujocoPushTrial(const SimulateOptions& options, SceneDraw draw, const PushBlock& script,
                  Robot robot, World world)
      : options_(options),
        draw_(std::move(draw)),
        script_(script),
        robot_(std::make_shared<const Robot>(std::move(robot))),
        world_(std::move(world)),
        tools_(script.tools()) {}

  SimulatedStep Look();
  void Return() { world_.Resume(present_, seen_.back().commanded); }
  /// The motion of a script from where the arms are.
  template <typename NextTools>
  StatusOr<TrialMotion> MotionOf(int step_count, NextTools next_tools) const;

  SimulateOptions options_;
  SceneDraw draw_;
  PushBlock script_;
  std::shared_ptr<const Robot> robot_;
  World world_;
  std::optional<OffscreenRenderer> renderer_;  // points to world_
  WorldSnapshot present_;
  ToolTargets tools_;
  std::vector<SimulatedStep> seen_;  ///< the last two
  bool has_collided_ = false;
};

StatusOr<std::unique_ptr<PushTrial>> MujocoPushTrial::Make(const SimulateOptions& options) {
  const std::filesystem::path folder =
      options.asset_folder.empty() ? DefaultAssetFolder() : options.asset_folder;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<Asset> meshes,
                              LoadArmMeshes(folder, *options.robot.model));
  StatusOr<SceneDraw> draw = DrawScene(options, {0, 0});
  for (std::uint32_t number = 1; number < kMaxSceneDraws && !draw.ok(); ++number) {
    if (draw.status().code() != StatusCode::kOutOfRange) return draw.status();
    draw = DrawScene(options, {number, number});
  }
  INTERLACER_RETURN_IF_ERROR(draw.status());
  const auto* const script = dynamic_cast<const PushBlock*>(draw->task.get());
  if (script == nullptr) {
    return Mismatch(reason::ARGUMENT_INVALID, "task", "push_block", options.task);
  }
  INTERLACER_ASSIGN_OR_RETURN(Robot robot, DescribeRobot(options.robot, meshes));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<Asset> assets,
                              AssetsOf(draw->scene, meshes, folder));
  INTERLACER_ASSIGN_OR_RETURN(World world, World::Create(draw->scene, draw->mjcf, assets));
  const PushBlock first_script = *script;
  std::unique_ptr<MujocoPushTrial> trial(new MujocoPushTrial(
      options, *std::move(draw), first_script, std::move(robot), std::move(world)));
  INTERLACER_ASSIGN_OR_RETURN(
      trial->renderer_,
      OffscreenRenderer::Create(trial->world_, options.width_px, options.height_px));
  const ArmStates first = trial->world_.Commanded();
  for (const double duration_s : {kRestS, kStepDurationS}) {
    trial->world_.Advance(first, duration_s);
    trial->seen_.push_back(trial->Look());
  }
  trial->present_ = trial->world_.Snapshot();
  return std::unique_ptr<PushTrial>(std::move(trial));
}

SimulatedStep MujocoPushTrial::Look() {
  SimulatedStep step;
  for (int camera = 0; camera < static_cast<int>(draw_.scene.cameras.size()); ++camera) {
    step.views.push_back(renderer_->Render(camera));
  }
  step.commanded = world_.Commanded();
  step.measured = world_.Measured();
  step.world_from_object = world_.ObjectPoses();
  return step;
}

template <typename NextTools>
StatusOr<TrialMotion> MujocoPushTrial::MotionOf(int step_count, NextTools next_tools) const {
  TrialMotion motion;
  ArmStates at = seen_.back().commanded;
  for (int step = 0; step < step_count; ++step) {
    motion.tools = next_tools();
    INTERLACER_ASSIGN_OR_RETURN(at, SolveState(options_.robot, motion.tools, at));
    motion.rows.push_back(at);
  }
  return motion;
}

double MujocoPushTrial::BlockRadiusM() const {
  const Vec3d& half_m = draw_.scene.objects.front().half_size_m;
  return std::hypot(half_m[0], half_m[1], half_m[2]);
}

TrialMotion MujocoPushTrial::Stay(int step_count) const {
  const auto count = static_cast<std::size_t>(step_count);
  return {std::vector<ArmStates>(count, seen_.back().commanded), tools_};
}

std::vector<TrialMotion> MujocoPushTrial::Propose(int count, int step_count,
                                                  std::uint64_t seed) const {
  std::vector<TrialMotion> motions;
  const int most = kTriesAMotion * count;
  for (int draw = 0; draw < most && static_cast<int>(motions.size()) < count; ++draw) {
    PushBlock script = script_;
    script.Interrupt(tools_);
    script.Redraw(RandomSequence(seed, RandomStream::kDataGeneration,
                                 static_cast<std::uint32_t>(draw), kMotionDraws));
    auto motion = MotionOf(step_count, [&] { return script.Next(seen_.back().world_from_object); });
    if (motion.ok()) motions.push_back(*std::move(motion));
  }
  return motions;
}

StatusOr<TrialMotion> MujocoPushTrial::BlindPush(const Vec3d& goal_m, int step_count) const {
  const double angle_rad = std::atan2(goal_m[1], goal_m[0]);
  const RobotSetup& robot = options_.robot;
  const Vec3d from_m = Along({0, 0, kPushHeightM}, angle_rad, -kBehindM);
  Vec3d to_m = Along(goal_m, angle_rad, -kBeforeGoalM);
  to_m[2] = kPushHeightM;
  int arm = 0;
  while (arm + 1 < robot.arm_count && !(InReach(robot, arm, from_m) && InReach(robot, arm, to_m))) {
    ++arm;
  }
  ToolPath path(tools_[arm]);
  ToolTarget goal{from_m, FoldYaw(angle_rad), kPushOpeningM};
  goal.position_m[2] = kLiftedHeightM;
  path.MoveTo(goal, kSpeedM);
  goal.position_m[2] = kPushHeightM;
  path.MoveTo(goal, kSpeedM);
  goal.position_m = to_m;
  path.MoveTo(goal, kSpeedM);
  ToolTargets tools = tools_;
  return MotionOf(step_count, [&] {
    if (!path.Done()) tools[arm] = path.Pop();
    return tools;
  });
}

SceneInput MujocoPushTrial::Observe() const {
  SceneInput input;
  input.workspace = kWorkspace;
  input.near_m = kNearM;
  input.far_m = kFarM;
  input.robot = robot_;
  ActionSequence& rows = input.history_actions;
  rows.kind = ActionKind::kJointPositions;
  std::int64_t time_ns = kNanosecondsPerSecond;
  for (const SimulatedStep& step : seen_) {
    Observation observation;
    for (std::size_t c = 0; c < step.views.size(); ++c) {
      const SceneCamera& camera = draw_.scene.cameras[c];
      observation.views.push_back({camera.name, camera.camera, step.views[c].color,
                                   DepthToMeters(step.views[c].depth), time_ns});
    }
    input.observations.push_back(std::move(observation));
    for (const double value : step.measured) rows.values.push_back(static_cast<float>(value));
    rows.column_count = static_cast<std::int64_t>(step.measured.size());
    ++rows.row_count;
    time_ns += ToNanoseconds(kStepDurationS);
  }
  return input;
}

Vec3d MujocoPushTrial::Try(const TrialMotion& motion) {
  Return();
  for (const ArmStates& row : motion.rows) world_.Advance(row, kStepDurationS);
  const Vec3d block_m = world_.ObjectPoses().front().translation_m;
  Return();
  return block_m;
}

void MujocoPushTrial::Execute(const TrialMotion& motion) {
  Return();
  for (std::size_t r = 0; r < motion.rows.size(); ++r) {
    world_.Advance(motion.rows[r], kStepDurationS);
    if (r + seen_.size() < motion.rows.size()) continue;  // only the last two are kept
    seen_.erase(seen_.begin());
    seen_.push_back(Look());
  }
  has_collided_ = has_collided_ || world_.ArmCollided();
  present_ = world_.Snapshot();
  tools_ = motion.tools;
}

}  // namespace

StatusOr<std::unique_ptr<PushTrial>> MakePushTrial(const SimulateOptions& options) {
  return MujocoPushTrial::Make(options);
}

}  // namespace interlacer::sim
