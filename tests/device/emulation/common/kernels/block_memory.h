#pragma once

/// Emulated form of common/kernels/block_memory.h. Copies are carried out when they are awaited.

#include <cuda_runtime.h>

namespace interlacer {

template <typename T>
T* LaunchedShared() {
  return static_cast<T*>(emulation::LaunchedSharedMemory());
}

inline void BeginCopy16(void* shared, const void* global) { emulation::BeginCopy(shared, global); }

inline void AwaitCopies() { emulation::AwaitCopies(); }

}  // namespace interlacer
