#pragma once

/// Shared memory whose size is known at launch, and asynchronous copies into it. Only .cu files
/// include it; where CUDA is emulated, its twin of the same path replaces it.

#include <cuda_runtime.h>

namespace interlacer {

/// The shared memory that a launch asked for, on a boundary of 16 bytes.
template <typename T>
__device__ inline T* LaunchedShared() {
  extern __shared__ __align__(16) unsigned char launched_shared[];
  return reinterpret_cast<T*>(launched_shared);
}

/// Begins to copy 16 bytes; both places are on boundaries of 16 bytes. This thread may read the
/// bytes after AwaitCopies, the other threads of the block after a barrier that follows it.
__device__ inline void BeginCopy16(void* shared, const void* global) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(place), "l"(global) : "memory");
}

/// Waits for all copies that this thread began.
__device__ inline void AwaitCopies() { asm volatile("cp.async.wait_all;\n" ::: "memory"); }

}  // namespace interlacer
