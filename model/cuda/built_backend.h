#pragma once

/// The CUDA backend that a program brings: handed to what loads or trains a model, which never asks
/// for it. Free of LibTorch. Threads: pure functions.

namespace interlacer {

struct CudaBackend;

/// Of the library interlacer::cuda_backend; null in a build without CUDA.
#if INTERLACER_WITH_CUDA
const CudaBackend* BuiltCudaBackend();
#else
inline const CudaBackend* BuiltCudaBackend() { return nullptr; }
#endif

}  // namespace interlacer
