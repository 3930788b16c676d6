#pragma once

/// Simulated RGB-D episodes of one or two arms at a table.
///
/// SimulateEpisode draws a scene from the seed, lets the task's script move the arms under MuJoCo's
/// physics, and renders every camera at every step. A draw in which the motion cannot be carried
/// out cleanly (an arm touches the other arm or the table, a pose out of reach, things that sink
/// into each other, the object of the task leaves the table or hardly moves) is thrown away and the
/// next one of the same seed is taken. An episode of fewer than 24 steps is the beginning of one of
/// 24, and is judged by that. The still flavour shows the same scene with arms that hold
/// their first pose. With a motion seed, the scene is the same for all such seeds: their motions
/// are the candidates of a planner in that scene. Units: metres, radians, seconds; frame
/// `table_center` of data/sim/robot.h; depth is z along the optical axis in units of 0.1 mm, 0
/// where nothing was hit.
/// Determinism: equal options give equal bytes on one machine; draws come from stream
/// kDataGeneration. Errors: INVALID_ARGUMENT ARGUMENT_INVALID (unknown task, a task for more
/// arms, sizes), FILE_NOT_FOUND (robot meshes, textures), INTERNAL (no off-screen context, no clean
/// draw), UNIMPLEMENTED FEATURE_NOT_BUILT (without MuJoCo). Threads: one episode per thread at a
/// time; calls from different threads are independent.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/camera.h"
#include "common/geometry.h"
#include "common/status.h"
#include "data/sim/arm_model.h"
#include "data/sim/simulated_view.h"
#include "data/sim/split.h"
#include "data/sim/task_names.h"
#include "robots/robot.h"

namespace interlacer::sim {

struct SimulateOptions {
  RobotSetup robot;
  std::string task = "push_block";  ///< one of TaskNames()
  Split split = Split::kTrain;  ///< equal seeds of two splits share nothing, see data/sim/split.h
  std::uint64_t seed = 0;
  bool still = false;
  /// Other motions in the scene: the arms wait for one step, so that all begin with the same two
  /// steps, and then do what this seed says. push_block and grasp_can alone.
  std::optional<std::uint64_t> motion_seed;
  int step_count = 24;
  int width_px = 320;
  int height_px = 240;
  /// Standard deviation of depth noise at 1 m, see data/sim/depth_noise.h; 0: exact depth.
  double depth_noise_m = 0;
  /// Folder with the arm model's mesh folder and textures; empty: see DefaultAssetFolder().
  std::filesystem::path asset_folder;
};

struct SimulatedStep {
  std::vector<SimulatedView> views;  ///< in the order of SimulatedEpisode::cameras
  ArmStates commanded;               ///< target that holds at this step
  ArmStates measured;                ///< reading at this step
  std::vector<Transform> world_from_object;
  /// [arm,object] 1 where the arm touched the object during the step that ends here.
  std::vector<std::uint8_t> arm_touches_object;
};

struct SimulatedCamera {
  std::string name;
  Camera camera;
};

struct SimulatedEpisode {
  RobotSetup setup;
  Robot robot;  ///< what the pictures show of it, see data/sim/described_robot.h
  std::string task;
  std::string task_text;  ///< one sentence, such as "push the green block"
  Split split = Split::kTrain;
  std::uint64_t seed = 0;
  bool still = false;
  std::optional<std::uint64_t> motion_seed;
  int draw_count = 0;  ///< draws of the seed until one was clean
  double step_duration_s = 0;
  double near_m = 0;
  double far_m = 0;
  Box workspace;
  std::string mjcf;  ///< the MuJoCo model, complete except for meshes and textures
  std::vector<SimulatedCamera> cameras;
  std::vector<std::string> object_names;
  std::vector<SimulatedStep> steps;
};

/// $INTERLACER_CACHE/robosuite_assets; else ../share/interlacer/robosuite_assets beside the
/// program, where an installation has it; else the folder that the build was configured with.
std::filesystem::path DefaultAssetFolder();

StatusOr<SimulatedEpisode> SimulateEpisode(const SimulateOptions& options);

}  // namespace interlacer::sim
