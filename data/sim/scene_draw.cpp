#include "data/sim/scene_draw.h"

#include <algorithm>

#include "data/sim/inverse_kinematics.h"
#include "data/sim/mjcf.h"

namespace interlacer::sim {
namespace {

// Second counter word of the draws, each split with its own; the first is the number of the draw.
constexpr std::uint32_t kRoomDraws = 0;
constexpr std::uint32_t kTaskDraws = 1;
constexpr std::uint32_t kDistractorDraws = 2;

constexpr int kMaxDistractors = 3;

ArmStates RestState(const RobotSetup& robot) {
  ArmStates state(robot.column_count());
  const ArmJoints& rest_rad = robot.model->rest_rad;
  for (int arm = 0; arm < robot.arm_count; ++arm) {
    std::copy(rest_rad.begin(), rest_rad.end(), state.begin() + arm * kArmColumns);
  }
  return state;
}

}  // namespace

StatusOr<ArmStates> SolveState(const RobotSetup& robot, const ToolTargets& tools,
                               const ArmStates& start) {
  ArmStates state(robot.column_count());
  for (int arm = 0; arm < robot.arm_count; ++arm) {
    INTERLACER_ASSIGN_OR_RETURN(const ArmJoints joint_rad,
                                SolveArm(*robot.model, arm, tools[arm], JointsOfArm(start, arm)));
    std::copy(joint_rad.begin(), joint_rad.end(), state.begin() + arm * kArmColumns);
    state[arm * kArmColumns + kJointCount] = tools[arm].opening_m;
  }
  return state;
}

StatusOr<SceneDraw> DrawScene(const SimulateOptions& options, const DrawNumbers& number) {
  const auto split = static_cast<std::uint32_t>(options.split);
  const auto random = [&](std::uint32_t what) {
    return RandomSequence(options.seed, RandomStream::kDataGeneration, number.scene,
                          what + kDrawsPerSplit * split);
  };
  RandomSequence room_random = random(kRoomDraws);
  RandomSequence distractor_random = random(kDistractorDraws);
  SceneDraw draw;
  draw.scene = DrawRoom(room_random, options.split, options.width_px, options.height_px);
  draw.scene.robot = options.robot;
  INTERLACER_ASSIGN_OR_RETURN(draw.task, MakeTask(options.task, options.robot, random(kTaskDraws),
                                                  ColorsOf(options.split)));
  const ToolTargets tools = draw.task->Prepare(draw.scene);
  if (options.motion_seed &&
      !draw.task->Redraw(RandomSequence(*options.motion_seed, RandomStream::kDataGeneration,
                                        number.motion, kMotionDraws + split))) {
    return Mismatch(reason::ARGUMENT_INVALID, "motion_seed", "none, with the task " + options.task,
                    std::to_string(*options.motion_seed));
  }
  AddDistractors(distractor_random, ColorsOf(options.split), kMaxDistractors, draw.scene);
  INTERLACER_ASSIGN_OR_RETURN(draw.scene.first_state,
                              SolveState(options.robot, tools, RestState(options.robot)));
  draw.mjcf = ComposeMjcf(draw.scene);
  return draw;
}

StatusOr<std::vector<Asset>> AssetsOf(const Scene& scene, std::vector<Asset> meshes,
                                      const std::filesystem::path& folder) {
  for (const std::string& name : {scene.table_texture, scene.floor_texture}) {
    INTERLACER_ASSIGN_OR_RETURN(Asset texture, LoadTexture(folder, name));
    meshes.push_back(std::move(texture));
  }
  return meshes;
}

}  // namespace interlacer::sim
