/// Stubs of the CUDA runtime's functions in a build without CUDA, as launchers_absent.cpp is for
/// the kernels. In a file of its own, so that tests can link it beside emulated kernels.

#include "model/cuda/recorded_work.h"
#include "model/kernels/device_query_cuda.h"

namespace interlacer {
int CudaDeviceName(int, char*, std::size_t) { return kNoDevice; }
int CudaComputeCapability(int, int*, int*) { return kNoDevice; }

std::unique_ptr<RecordedWork> RecordCudaGraph(torch::Device, const std::function<void()>&) {
  TORCH_CHECK(false, "built without CUDA");
}

}  // namespace interlacer
