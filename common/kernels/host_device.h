#pragma once

/// INTERLACER_HOST_DEVICE marks an inline function that host code and CUDA kernels share.

#if defined(__CUDACC__)
#define INTERLACER_HOST_DEVICE __host__ __device__
#else
#define INTERLACER_HOST_DEVICE
#endif
