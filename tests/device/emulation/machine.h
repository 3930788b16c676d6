#pragma once

/// Shared by the parts of the emulated runtime: sizes of the machine, and the recording of errors.

#include <cuda_runtime.h>

namespace interlacer::emulation {

inline constexpr int kLanes = 32;
inline constexpr int kPoison = 0xFF;
/// Shared memory as on an H100.
inline constexpr int kPlainSharedBytes = 48 * 1024;
inline constexpr int kDeclaredSharedBytes = 1024;
inline constexpr int kMaxSharedBytes = 227 * 1024;
inline constexpr int kMultiprocessorSharedBytes = 228 * 1024;
inline constexpr int kMultiprocessorThreads = 2048;
/// One, so that resident blocks are few and process several tiles even in small tests.
inline constexpr int kMultiprocessors = 1;

/// Returns the error of a call and records it for cudaGetLastError.
cudaError_t Answer(cudaError_t error);

}  // namespace interlacer::emulation
