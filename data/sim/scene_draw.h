#pragma once

/// One draw of a scene: room, task, objects and the arms' first pose.
///
/// Units and frame as in data/sim/robot.h. Deterministic: draws come from stream kDataGeneration by
/// seed, split and the numbers of the draw. Thread-safety: pure functions.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/sim/assets.h"
#include "data/sim/scene.h"
#include "data/sim/simulator.h"
#include "data/sim/tasks.h"

namespace interlacer::sim {

/// Second counter words of a split's draws.
inline constexpr std::uint32_t kDrawsPerSplit = 3;
/// Draws under a motion seed come after those of the three splits.
inline constexpr std::uint32_t kMotionDraws = 3 * kDrawsPerSplit;

struct SceneDraw {
  Scene scene;
  std::unique_ptr<Task> task;
  std::string mjcf;
};

/// Numbers of the draws of a scene and of what happens in it, which differ under a motion seed.
struct DrawNumbers {
  std::uint32_t scene = 0;
  std::uint32_t motion = 0;
};

/// OUT_OF_RANGE when the first pose cannot be reached.
StatusOr<SceneDraw> DrawScene(const SimulateOptions& options, const DrawNumbers& number);

/// Joints that bring the tools to their targets; OUT_OF_RANGE for a pose that an arm cannot take.
StatusOr<ArmStates> SolveState(const RobotSetup& robot, const ToolTargets& tools,
                               const ArmStates& start);

/// Adds the textures of the scene to the meshes.
StatusOr<std::vector<Asset>> AssetsOf(const Scene& scene, std::vector<Asset> meshes,
                                      const std::filesystem::path& folder);

}  // namespace interlacer::sim
