#include "data/sim/mujoco_trial.h"

#include <cmath>
#include <utility>

#include "common/duration.h"
#include "data/sim/described_robot.h"

namespace interlacer::sim {
namespace {

constexpr std::uint32_t kMaxSceneDraws = 50;
constexpr double kRestS = 1.0;  // objects come to rest before the first step

}  // namespace

double RadiusOf(const SceneObject& object) {
  const Vec3d& half_m = object.half_size_m;
  if (object.shape == ObjectShape::kCylinder) return std::hypot(half_m[0], half_m[2]);
  return std::hypot(half_m[0], half_m[1], half_m[2]);
}

StatusOr<TrialParts> DrawTrial(const SimulateOptions& options) {
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
  INTERLACER_ASSIGN_OR_RETURN(Robot robot, DescribeRobot(options.robot, meshes));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<Asset> assets,
                              AssetsOf(draw->scene, meshes, folder));
  INTERLACER_ASSIGN_OR_RETURN(World world, World::Create(draw->scene, draw->mjcf, assets));
  return TrialParts{options, *std::move(draw), std::move(robot), std::move(world)};
}

MujocoTrial::MujocoTrial(TrialParts parts, ToolTargets tools)
    : options_(std::move(parts.options)),
      draw_(std::move(parts.draw)),
      robot_(std::make_shared<const Robot>(std::move(parts.robot))),
      world_(std::move(parts.world)),
      tools_(std::move(tools)) {}

Status MujocoTrial::Begin() {
  INTERLACER_ASSIGN_OR_RETURN(
      renderer_, OffscreenRenderer::Create(world_, options_.width_px, options_.height_px));
  const ArmStates first = world_.Commanded();
  for (const double duration_s : {kRestS, kStepDurationS}) {
    world_.Advance(first, duration_s);
    seen_.push_back(Look());
  }
  present_ = world_.Snapshot();
  return Status::Ok();
}

SimulatedStep MujocoTrial::Look() {
  SimulatedStep step;
  for (int camera = 0; camera < static_cast<int>(draw_.scene.cameras.size()); ++camera) {
    step.views.push_back(renderer_->Render(camera));
  }
  step.commanded = world_.Commanded();
  step.measured = world_.Measured();
  step.world_from_object = world_.ObjectPoses();
  return step;
}

TrialMotion MujocoTrial::Stay(int step_count) const {
  const auto count = static_cast<std::size_t>(step_count);
  return {std::vector<ArmStates>(count, seen_.back().commanded), tools_};
}

StatusOr<TrialMotion> MujocoTrial::MotionOf(int step_count, int arm, ToolPath path) const {
  ToolTargets tools = tools_;
  return MotionOf(step_count, [&] {
    if (!path.Done()) tools[arm] = path.Pop();
    return tools;
  });
}

SceneInput MujocoTrial::Observe() const {
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

Vec3d MujocoTrial::Try(const TrialMotion& motion) {
  Return();
  for (const ArmStates& row : motion.rows) world_.Advance(row, kStepDurationS);
  const Vec3d object_m = world_.ObjectPoses().front().translation_m;
  Return();
  return object_m;
}

void MujocoTrial::Execute(const TrialMotion& motion) {
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

}  // namespace interlacer::sim
