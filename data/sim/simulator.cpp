#include "data/sim/simulator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "data/sim/assets.h"
#include "data/sim/depth_noise.h"
#include "data/sim/described_robot.h"
#include "data/sim/offscreen.h"
#include "data/sim/scene_draw.h"
#include "data/sim/world.h"

namespace interlacer::sim {
namespace {

constexpr int kMaxDraws = 50;
constexpr int kFullEpisodeSteps = 24;  // a shorter episode is the beginning of one of this length
constexpr int kMaxSteps = 10000;
constexpr double kMaxDepthNoiseM = 0.1;
constexpr int kMinSidePx = 16;
constexpr int kMaxSidePx = 2048;

// Seeds of depth noise, one for each split, still or not, with and without a motion seed.
constexpr std::uint32_t kNoiseSeedDraws = kMotionDraws + kDrawsPerSplit;
constexpr std::uint32_t kSplitCount = 3;

constexpr int kWaitSteps = 1;  // of an episode with a motion seed

constexpr double kSettleS = 1.0;               // objects come to rest before the first step
constexpr double kMaxOverlapM = 0.004;         // contacts are soft: fingers sink 2 mm into a can
constexpr double kMaxTrackingErrorRad = 0.01;  // measured joint against commanded

Status CheckOptions(const SimulateOptions& options) {
  const auto check = [](const char* field, int value, int low, int high) {
    if (value >= low && value <= high) return Status::Ok();
    return Mismatch(reason::ARGUMENT_INVALID, field,
                    std::to_string(low) + " to " + std::to_string(high), std::to_string(value));
  };
  INTERLACER_RETURN_IF_ERROR(check("arms", options.robot.arm_count, 1, kMaxArmCount));
  INTERLACER_RETURN_IF_ERROR(check("step_count", options.step_count, 1, kMaxSteps));
  INTERLACER_RETURN_IF_ERROR(check("width_px", options.width_px, kMinSidePx, kMaxSidePx));
  INTERLACER_RETURN_IF_ERROR(check("height_px", options.height_px, kMinSidePx, kMaxSidePx));
  if (!(options.depth_noise_m >= 0 && options.depth_noise_m <= kMaxDepthNoiseM)) {
    return Mismatch(reason::ARGUMENT_INVALID, "depth_noise_m",
                    "0 to " + std::to_string(kMaxDepthNoiseM),
                    std::to_string(options.depth_noise_m));
  }
  return Status::Ok();
}

/// The recorded result of the physics, to be rendered.
struct Motion {
  std::vector<WorldSnapshot> snapshots;
  std::vector<ArmStates> commanded;
  std::vector<ArmStates> measured;
  std::vector<std::vector<Transform>> object_poses;
  std::vector<std::vector<std::uint8_t>> arm_touches_object;
  double deepest_contact_m = 0;
};

void Record(const World& world, Motion& motion) {
  motion.snapshots.push_back(world.Snapshot());
  motion.commanded.push_back(world.Commanded());
  motion.measured.push_back(world.Measured());
  motion.object_poses.push_back(world.ObjectPoses());
  motion.arm_touches_object.push_back(world.ArmTouchesObject());
  motion.deepest_contact_m = std::max(motion.deepest_contact_m, world.DeepestContactM());
}

/// The arms hold their first pose for `wait_steps`, then the script begins. OUT_OF_RANGE when it
/// asks for a pose that an arm cannot take.
StatusOr<Motion> Play(const RobotSetup& robot, Task& task, int wait_steps, int step_count,
                      World& world) {
  world.Advance(world.Commanded(), kSettleS);
  Motion motion;
  Record(world, motion);
  while (static_cast<int>(motion.snapshots.size()) < step_count) {
    ArmStates target = world.Commanded();
    if (static_cast<int>(motion.snapshots.size()) > wait_steps) {
      const ToolTargets tools = task.Next(motion.object_poses.back());
      INTERLACER_ASSIGN_OR_RETURN(target, SolveState(robot, tools, world.Commanded()));
    }
    world.Advance(target, kStepDurationS);
    Record(world, motion);
  }
  return motion;
}

bool WellTracked(const Motion& motion) {
  for (std::size_t step = 0; step < motion.measured.size(); ++step) {
    for (int c = 0; c < static_cast<int>(motion.measured[step].size()); ++c) {
      if (c % kArmColumns == kJointCount) continue;  // the gripper may hold something
      const double error_rad = motion.measured[step][c] - motion.commanded[step][c];
      if (std::abs(error_rad) > kMaxTrackingErrorRad) return false;
    }
  }
  return true;
}

/// Moving and still twins of a scene have different depth noise.
std::uint64_t NoiseSeed(const SimulateOptions& options) {
  std::uint32_t kind = static_cast<std::uint32_t>(options.split);
  if (options.still) kind += kSplitCount;
  if (options.motion_seed) kind += 2 * kSplitCount;
  return RandomSequence(options.seed, RandomStream::kDataGeneration,
                        static_cast<std::uint32_t>(options.motion_seed.value_or(0)),
                        kNoiseSeedDraws + kind)
      .Next64();
}

StatusOr<SimulatedEpisode> RenderEpisode(const SimulateOptions& options, const SceneDraw& draw,
                                         const Motion& motion, World& world) {
  SimulatedEpisode episode;
  episode.setup = options.robot;
  episode.task = options.task;
  episode.task_text = draw.task->Text();
  episode.split = options.split;
  episode.seed = options.seed;
  episode.still = options.still;
  episode.motion_seed = options.motion_seed;
  episode.step_duration_s = kStepDurationS;
  episode.near_m = kNearM;
  episode.far_m = kFarM;
  episode.workspace = kWorkspace;
  episode.mjcf = draw.mjcf;
  for (const SceneCamera& named : draw.scene.cameras) {
    episode.cameras.push_back({named.name, named.camera});
  }
  for (const SceneObject& object : draw.scene.objects) episode.object_names.push_back(object.name);
  INTERLACER_ASSIGN_OR_RETURN(
      OffscreenRenderer renderer,
      OffscreenRenderer::Create(world, options.width_px, options.height_px));
  const std::uint64_t noise_seed = NoiseSeed(options);
  for (std::size_t s = 0; s < motion.snapshots.size(); ++s) {
    world.Restore(motion.snapshots[s]);
    SimulatedStep step;
    for (std::size_t c = 0; c < episode.cameras.size(); ++c) {
      SimulatedView view = renderer.Render(static_cast<int>(c));
      AddDepthNoise(noise_seed, static_cast<int>(s), static_cast<int>(c), options.depth_noise_m,
                    view.depth);
      step.views.push_back(std::move(view));
    }
    step.commanded = motion.commanded[s];
    step.measured = motion.measured[s];
    step.world_from_object = motion.object_poses[s];
    step.arm_touches_object = motion.arm_touches_object[s];
    episode.steps.push_back(std::move(step));
  }
  return episode;
}

}  // namespace

std::filesystem::path DefaultAssetFolder() {
  const char* const cache = std::getenv("INTERLACER_CACHE");
  if (cache != nullptr && *cache != '\0') return std::filesystem::path(cache) / "robosuite_assets";
  // An installation has the assets beside its programs.
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path installed =
      program.parent_path().parent_path() / "share/interlacer/robosuite_assets";
  if (!error && std::filesystem::is_directory(installed, error)) return installed;
  return INTERLACER_ROBOT_ASSETS;
}

StatusOr<SimulatedEpisode> SimulateEpisode(const SimulateOptions& options) {
  INTERLACER_RETURN_IF_ERROR(CheckOptions(options));
  const std::filesystem::path folder =
      options.asset_folder.empty() ? DefaultAssetFolder() : options.asset_folder;
  const ArmModel& model = *options.robot.model;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<Asset> meshes, LoadArmMeshes(folder, model));
  std::string last_refusal = "none";
  std::uint32_t scene = 0;
  for (std::uint32_t number = 0; number < kMaxDraws; ++number) {
    StatusOr<SceneDraw> draw = DrawScene(options, {scene, number});
    // A motion seed looks for another motion in the first scene whose first pose can be reached.
    if (!draw.ok() || !options.motion_seed) ++scene;
    if (!draw.ok()) {
      if (draw.status().code() != StatusCode::kOutOfRange) return draw.status();
      last_refusal = draw.status().message();
      continue;
    }
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<Asset> assets,
                                AssetsOf(draw->scene, meshes, folder));
    INTERLACER_ASSIGN_OR_RETURN(World world, World::Create(draw->scene, draw->mjcf, assets));
    // The still flavour shows the draw that its moving twin shows, so the script is played first.
    StatusOr<Motion> motion = Play(options.robot, *draw->task, options.motion_seed ? kWaitSteps : 0,
                                   std::max(options.step_count, kFullEpisodeSteps), world);
    if (!motion.ok()) {
      last_refusal = motion.status().message();
      continue;
    }
    if (world.ArmCollided()) {
      last_refusal = "an arm touched the other arm or the table";
      continue;
    }
    if (motion->deepest_contact_m > kMaxOverlapM) {
      last_refusal = "things sank into each other";
      continue;
    }
    if (!WellTracked(*motion)) {
      last_refusal = "an arm missed its target";
      continue;
    }
    if (!draw->task->Succeeded(motion->object_poses)) {
      last_refusal = "the task did not come about";
      continue;
    }
    if (options.still) {
      INTERLACER_ASSIGN_OR_RETURN(world, World::Create(draw->scene, draw->mjcf, assets));
      INTERLACER_ASSIGN_OR_RETURN(
          motion, Play(options.robot, *draw->task, options.step_count, options.step_count, world));
    }
    motion->snapshots.resize(options.step_count);
    INTERLACER_ASSIGN_OR_RETURN(SimulatedEpisode episode,
                                RenderEpisode(options, *draw, *motion, world));
    episode.draw_count = static_cast<int>(number) + 1;
    INTERLACER_ASSIGN_OR_RETURN(episode.robot, DescribeRobot(options.robot, meshes));
    return episode;
  }
  return Internal("no clean draw of " + options.task + " with seed " +
                  std::to_string(options.seed) + " in " + std::to_string(kMaxDraws) +
                  "; last refusal: " + last_refusal);
}

}  // namespace interlacer::sim
