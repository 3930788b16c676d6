#pragma once

/// Reads and writes a checkpoint directory: config.json and weights.safetensors.
///
/// Weights are float32 or, exported, float16, little-endian, by stable parameter name. Loading
/// checks every name, shape and type against the configuration before a value is used; unknown and
/// missing tensors are refused. Each file is written under a temporary name and renamed when
/// complete. Errors: FAILED_PRECONDITION CHECKPOINT_INVALID naming the tensor, expected and got;
/// NOT_FOUND FILE_NOT_FOUND; FAILED_PRECONDITION FILE_UNWRITABLE. Threads: free functions, safe on
/// distinct paths.

#include <memory>
#include <string>

#include "common/status.h"
#include "model/files/tensor_file.h"
#include "model/network/world_model.h"

namespace interlacer {

struct Checkpoint {
  std::shared_ptr<WorldModel> model;
  TensorMetadata metadata;  ///< of the weights file: trained_step_count and the like
  std::string weights_sha256;
  std::string config_sha256;
};

enum class StoredWeights { kFloat32, kFloat16 };

/// Writes config.json and weights.safetensors into `dir`, which is created if absent.
/// CHECKPOINT_INVALID for weights outside the range of float16.
Status SaveCheckpoint(const std::string& dir, const WorldModel& model,
                      const TensorMetadata& metadata,
                      StoredWeights stored = StoredWeights::kFloat32);
StatusOr<Checkpoint> LoadCheckpoint(const std::string& dir, const WorldModelOptions& options);

}  // namespace interlacer
