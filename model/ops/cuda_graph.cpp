#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <atomic>

#include "model/ops/recorded_work.h"

namespace interlacer {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

/// A pool of the allocator that nobody else has.
c10::MempoolId_t NewPool() {
  static std::atomic<c10::CaptureId_t> last{0};
  return {0, ++last};
}

class CudaGraph : public RecordedWork {
 public:
  CudaGraph(c10::DeviceIndex device, const std::function<void()>& work)
      : device_(device), pool_(NewPool()) {
    const c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool(false, device_);
    c10::cuda::getCurrentCUDAStream(device_).synchronize();
    const c10::cuda::CUDAStreamGuard guard(side);
    work();
    side.synchronize();
    allocator::beginAllocateToPool(device_, pool_,
                                   [side](cudaStream_t stream) { return stream == side.stream(); });
    cudaGraph_t graph = nullptr;
    try {
      Capture(side, work, &graph);
      C10_CUDA_CHECK(cudaGraphInstantiate(&executable_, graph, 0));
    } catch (...) {
      if (graph != nullptr) (void)cudaGraphDestroy(graph);
      (void)cudaGetLastError();  // a broken capture is reported by the exception
      allocator::endAllocateToPool(device_, pool_);
      allocator::releasePool(device_, pool_);
      throw;
    }
    (void)cudaGraphDestroy(graph);
    allocator::endAllocateToPool(device_, pool_);
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override {
    (void)cudaGraphExecDestroy(executable_);
    allocator::releasePool(device_, pool_);
  }

  void Replay() override {
    C10_CUDA_CHECK(cudaGraphLaunch(executable_, c10::cuda::getCurrentCUDAStream(device_)));
  }

 private:
  /// Other threads may go on using the device while this one records.
  static void Capture(const c10::cuda::CUDAStream& side, const std::function<void()>& work,
                      cudaGraph_t* graph) {
    C10_CUDA_CHECK(cudaStreamBeginCapture(side, cudaStreamCaptureModeThreadLocal));
    try {
      work();
    } catch (...) {
      (void)cudaStreamEndCapture(side, graph);
      throw;
    }
    C10_CUDA_CHECK(cudaStreamEndCapture(side, graph));
  }

  c10::DeviceIndex device_;
  c10::MempoolId_t pool_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

std::unique_ptr<RecordedWork> RecordCudaGraph(torch::Device device,
                                              const std::function<void()>& work) {
  return std::make_unique<CudaGraph>(device.index(), work);
}

}  // namespace interlacer
