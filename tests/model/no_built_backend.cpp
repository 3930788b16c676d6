/// For programs with emulated kernels, which are linked without the others.

#include "model/cuda/backend.h"

namespace interlacer {

#if INTERLACER_WITH_CUDA
const CudaBackend* BuiltCudaBackend() { return nullptr; }
#endif

}  // namespace interlacer
