#pragma once

/// Writes simulated episodes as episode folders.
///
/// Besides frames, actions and states the folder gets robot/, the robot folder of what the frames
/// show (robots/robot_folder.h), and truth/: object_poses.npy float64
/// [steps,objects,7] (x y z, quaternion x y z w), contacts.npy uint8 [steps,arms,objects],
/// mask/<camera>/<step>.png (16-bit labels), objects.json (names in order, mask labels) and
/// scene.xml (the MuJoCo model). A simulated episode is a function of its options, so its
/// created_time is fixed: equal options give equal bytes.
/// Errors: those of data/episode_writer.h. Thread-safety: different folders from different threads.

#include <string>

#include "common/status.h"
#include "data/sim/simulator.h"

namespace interlacer::sim {

struct EpisodeExportOptions {
  std::string command;  ///< the command line that repeats the episode
  bool overwrite = false;
};

/// "push_block_000123", or "push_block_000123_still" for the control; scenes of the other splits
/// say so, and other robots than two KUKA arms: "push_block_panda_one_arm_test_000123".
std::string EpisodeId(const SimulatedEpisode& episode);

Status WriteSimulatedEpisode(const SimulatedEpisode& episode, const std::string& episode_dir,
                             const EpisodeExportOptions& options);

}  // namespace interlacer::sim
