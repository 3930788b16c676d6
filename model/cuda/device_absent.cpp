/// What launchers_absent.cpp is for the kernels, for the rest of the CUDA runtime. A file of its
/// own: where tests bring emulated kernels, the linker takes this one and leaves the other.

#include "model/cuda/recorded_work.h"
#include "model/kernels/device_query_cuda.h"

namespace interlacer {
int CudaDeviceName(int, char*, std::size_t) { return kNoDevice; }
int CudaComputeCapability(int, int*, int*) { return kNoDevice; }

std::unique_ptr<RecordedWork> RecordCudaGraph(torch::Device, const std::function<void()>&) {
  TORCH_CHECK(false, "built without CUDA");
}

}  // namespace interlacer
