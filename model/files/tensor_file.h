#pragma once

/// Named tensors and string metadata in one safetensors file: weights, optimiser state.
///
/// Types float16, bfloat16, float32, float64, int8 to int64, uint8 and bool, little-endian,
/// contiguous. Reading trusts nothing: file and header size, types, shapes, offsets, overlap, gaps
/// and names that stand twice are checked before a tensor is made. Limits, of what is written too:
/// kMaxTensorFileBytes, kMaxTensorHeaderBytes, 8 dimensions. Errors: FAILED_PRECONDITION
/// CHECKPOINT_INVALID with the tensor's name as field, expected and got; those of common/file_io.h.
/// Threads: free functions, safe on distinct paths. Source: safetensors.

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <string>

#include "common/status.h"
#include "model/files/tensor_header.h"

namespace interlacer {

using NamedTensors = std::map<std::string, torch::Tensor>;

inline constexpr std::int64_t kMaxTensorFileBytes = std::int64_t{4} << 30;

struct TensorFile {
  NamedTensors tensors;
  TensorMetadata metadata;
  std::string sha256 = {};  ///< of the bytes that were read; empty in what is to be written
};

Status WriteTensorFile(const std::string& path, const TensorFile& file);
StatusOr<TensorFile> ReadTensorFile(const std::string& path);

/// "float32 [64,3]" for messages.
std::string DescribeTensor(const torch::Tensor& tensor);

}  // namespace interlacer
