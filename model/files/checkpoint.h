#pragma once

/// Reads and writes a checkpoint directory: config.json, weights.safetensors and, for a model that
/// was made with a robot, robot/, a robot folder (robots/robot_folder.h).
///
/// Weights are float32 or, exported, float16, little-endian, by stable parameter name. Loading
/// checks every name, shape and type against the configuration before a value is used; unknown and
/// missing tensors are refused. Each file is written under a temporary name and renamed when
/// complete. The robot's hash stands in the metadata of the weights; a folder that was put there
/// later, which they do not name, is read too. Errors: FAILED_PRECONDITION CHECKPOINT_INVALID
/// naming the tensor, expected and got; HASH_MISMATCH and those of robots/robot_folder.h; NOT_FOUND
/// FILE_NOT_FOUND, also for a robot that is named and not there; FAILED_PRECONDITION
/// FILE_UNWRITABLE. Threads: free functions, safe on distinct paths.

#include <memory>
#include <string>

#include "common/status.h"
#include "model/files/tensor_file.h"
#include "model/network/world_model.h"
#include "robots/robot.h"

namespace interlacer {

struct Checkpoint {
  std::shared_ptr<WorldModel> model;
  TensorMetadata metadata;  ///< of the weights file: trained_step_count and the like
  std::string weights_sha256;
  std::string config_sha256;
  std::shared_ptr<const Robot> robot;  ///< null without a robot folder
};

inline constexpr char kCheckpointRobotFolder[] = "robot";
/// Metadata key of the hash of the robot folder (Robot::sha256).
inline constexpr char kRobotSha256Key[] = "robot_sha256";

enum class StoredWeights { kFloat32, kFloat16 };

/// Writes config.json, weights.safetensors and, unless `robot_folder` is empty, a copy of it into
/// `dir`, which is created if absent. CHECKPOINT_INVALID for weights outside the range of float16.
Status SaveCheckpoint(const std::string& dir, const WorldModel& model, TensorMetadata metadata,
                      StoredWeights stored = StoredWeights::kFloat32,
                      const std::string& robot_folder = "");
StatusOr<Checkpoint> LoadCheckpoint(const std::string& dir, const WorldModelOptions& options);

}  // namespace interlacer
