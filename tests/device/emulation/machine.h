#pragma once

/// What the parts of the emulated runtime share: the sizes of its machine, and how calls fail.

#include <cuda_runtime.h>

#include <cstddef>

namespace interlacer::emulation {

inline constexpr int kLanes = 32;
inline constexpr int kPoison = 0xFF;
/// Shared memory as an H100 has it.
inline constexpr int kPlainSharedBytes = 48 * 1024;
inline constexpr int kDeclaredSharedBytes = 1024;
inline constexpr int kMaxSharedBytes = 227 * 1024;
inline constexpr int kMultiprocessorSharedBytes = 228 * 1024;
inline constexpr int kMultiprocessorThreads = 2048;
/// One: blocks that stay are few, and visit several tiles in small tests too.
inline constexpr int kMultiprocessors = 1;

/// What a call returns; a failure is kept for cudaGetLastError.
cudaError_t Answer(cudaError_t error);

}  // namespace interlacer::emulation
