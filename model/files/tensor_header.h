#pragma once

/// Reads and writes the header of a safetensors file: where each tensor lies, and metadata as text.
/// Free of LibTorch.
///
/// Only the header's size and form are checked here; tensor_file.h checks what it says about
/// tensors. Errors: FAILED_PRECONDITION CHECKPOINT_INVALID with expected
/// and got; those of common/file_io.h. Threads: free functions, safe on distinct paths. Source:
/// safetensors.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "common/json.h"
#include "common/status.h"

namespace interlacer {

/// Name of the weights in the folder of a checkpoint.
inline constexpr char kWeightsFile[] = "weights.safetensors";

/// Longest header that is read, without the length before it.
inline constexpr std::size_t kMaxTensorHeaderBytes = std::size_t{16} << 20;

using TensorMetadata = std::map<std::string, std::string>;

/// Metadata key of the number of optimiser steps behind weights or optimiser state.
inline constexpr char kOptimizerStepsKey[] = "optimizer_steps";

struct TensorHeader {
  nlohmann::json tensors;  ///< by name: dtype, shape and data_offsets, unchecked
  TensorMetadata metadata;
  std::size_t size_bytes = 0;  ///< including the length before it: offset of the first tensor
};

/// `bytes` are the start of a file, at least up to the end of the header. `path` is for errors.
StatusOr<TensorHeader> ParseTensorHeader(std::span<const std::uint8_t> bytes,
                                         const std::string& path);
/// Formats the start of a file up to its tensors. `tensors` as in TensorHeader.
std::string FormatTensorHeader(const nlohmann::ordered_json& tensors,
                               const TensorMetadata& metadata);
/// Reads the metadata only, not the tensors.
StatusOr<TensorMetadata> ReadTensorMetadata(const std::string& path);

/// CHECKPOINT_INVALID where the metadata entry is missing or is not a count.
StatusOr<std::int64_t> OptimizerSteps(const TensorMetadata& metadata);

/// An error CHECKPOINT_INVALID at `field`.
Status CheckpointInvalid(std::string field, std::string expected, std::string got);
/// The same error as FAILED_PRECONDITION CHECKPOINT_INVALID: to who loads a checkpoint, what stands
/// in it is data and no argument.
Status AsCheckpointInvalid(const Status& status);

}  // namespace interlacer
