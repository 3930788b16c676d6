#pragma once

/// A checkpoint directory: config.json and weights.safetensors; and named tensors in one file.
///
/// Weights are float32, little-endian, by stable parameter name. Loading checks every name, shape
/// and type against the configuration before a value is used; unknown and missing tensors are
/// refused. Writes go to a temporary name and are renamed when complete.
/// Errors: FAILED_PRECONDITION CHECKPOINT_INVALID naming the tensor, expected and got;
/// NOT_FOUND FILE_NOT_FOUND; FAILED_PRECONDITION FILE_UNWRITABLE. Threads: free functions, safe on
/// distinct paths.

#include <torch/types.h>

#include <map>
#include <memory>
#include <string>

#include "common/status.h"
#include "model/world_model.h"

namespace interlacer {

using NamedTensors = std::map<std::string, torch::Tensor>;
using TensorMetadata = std::map<std::string, std::string>;

/// float32, float64 or int64 tensors and string metadata in a safetensors file; any state that a
/// trainer must resume from.
struct TensorFile {
  NamedTensors tensors;
  TensorMetadata metadata;
};
Status WriteTensorFile(const std::string& path, const TensorFile& file);
StatusOr<TensorFile> ReadTensorFile(const std::string& path);

struct Checkpoint {
  std::shared_ptr<WorldModel> model;
  TensorMetadata metadata;  ///< of the weights file: trained_step_count and the like
  std::string weights_sha256;
  std::string config_sha256;
};

/// Writes config.json and weights.safetensors into `dir`, which is made if absent.
Status SaveCheckpoint(const std::string& dir, const WorldModel& model,
                      const TensorMetadata& metadata);
StatusOr<Checkpoint> LoadCheckpoint(const std::string& dir, const WorldModelOptions& options);

}  // namespace interlacer
