#pragma once

/// What a safetensors file says before its tensors: where each lies, and text about them all. Does
/// without LibTorch.
///
/// Only the header's size and form are checked here, what it says of tensors by tensor_file.h.
/// Limit: 16 MiB of header. Errors: FAILED_PRECONDITION CHECKPOINT_INVALID with expected and got;
/// those of common/file_io.h. Threads: free functions, safe on distinct paths. Source: safetensors.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "common/json.h"
#include "common/status.h"

namespace interlacer {

using TensorMetadata = std::map<std::string, std::string>;

/// Key of the steps that made weights or optimizer state.
inline constexpr char kOptimizerStepsKey[] = "optimizer_steps";

struct TensorHeader {
  nlohmann::json tensors;  ///< by name: dtype, shape and data_offsets, unchecked
  TensorMetadata metadata;
  std::size_t size_bytes = 0;  ///< with the length before it: the tensors begin here
};

/// `bytes`: a file from its beginning, at least as far as the header goes. `path` is for errors.
StatusOr<TensorHeader> ParseTensorHeader(std::span<const std::uint8_t> bytes,
                                         const std::string& path);
/// The beginning of a file, up to its tensors. `tensors` as in TensorHeader.
std::string FormatTensorHeader(const nlohmann::ordered_json& tensors,
                               const TensorMetadata& metadata);
/// Leaves the tensors unread.
StatusOr<TensorMetadata> ReadTensorMetadata(const std::string& path);

/// CHECKPOINT_INVALID where they are missing or no count.
StatusOr<std::int64_t> OptimizerSteps(const TensorMetadata& metadata);

/// The usual refusal: CHECKPOINT_INVALID at `field`.
Status CheckpointInvalid(std::string field, std::string expected, std::string got);

}  // namespace interlacer
