#include "model/cuda/built_backend.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <atomic>
#include <map>
#include <mutex>

#include "model/cuda/backend.h"

namespace interlacer {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

/// Discards the error of a call that does not matter or is reported by an exception, so that the
/// runtime does not return it later.
void Forget(cudaError_t error) {
  if (error != cudaSuccess) (void)cudaGetLastError();
}

/// Recordings take turns on one stream that nothing else uses: no other work is captured, and
/// libraries keep a single workspace for all recordings.
std::mutex recording_mutex;

/// Stream of the recordings of a device; it lives until the program ends.
c10::cuda::CUDAStream SideStream(c10::DeviceIndex device) {
  static std::map<c10::DeviceIndex, c10::cuda::CUDAStream> streams;
  const auto found = streams.find(device);
  if (found != streams.end()) return found->second;
  const c10::cuda::CUDAGuard guard(device);
  cudaStream_t stream = nullptr;
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return streams.emplace(device, c10::cuda::getStreamFromExternal(stream, device)).first->second;
}

/// A memory pool of the allocator for one recording alone.
c10::MempoolId_t NewPool() {
  static std::atomic<c10::CaptureId_t> last{0};
  return {0, ++last};
}

class CudaGraph : public RecordedWork {
 public:
  CudaGraph(c10::DeviceIndex device, const std::function<void()>& work)
      : device_(device), pool_(NewPool()) {
    const std::lock_guard lock(recording_mutex);
    const c10::cuda::CUDAStream side = SideStream(device_);
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
      if (graph != nullptr) Forget(cudaGraphDestroy(graph));
      allocator::endAllocateToPool(device_, pool_);
      allocator::releasePool(device_, pool_);
      // A failed capture also leaves errors of the launches of `work`, which nothing else would
      // clear.
      (void)cudaGetLastError();
      throw;
    }
    Forget(cudaGraphDestroy(graph));
    allocator::endAllocateToPool(device_, pool_);
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override {
    Forget(cudaGraphExecDestroy(executable_));
    allocator::releasePool(device_, pool_);
  }

  void Replay() override {
    C10_CUDA_CHECK(cudaGraphLaunch(executable_, c10::cuda::getCurrentCUDAStream(device_)));
  }

 private:
  /// Other threads may use the device while this one records.
  static void Capture(const c10::cuda::CUDAStream& side, const std::function<void()>& work,
                      cudaGraph_t* graph) {
    C10_CUDA_CHECK(cudaStreamBeginCapture(side, cudaStreamCaptureModeThreadLocal));
    try {
      work();
    } catch (...) {
      Forget(cudaStreamEndCapture(side, graph));
      throw;
    }
    C10_CUDA_CHECK(cudaStreamEndCapture(side, graph));
  }

  c10::DeviceIndex device_;
  c10::MempoolId_t pool_;
  cudaGraphExec_t executable_ = nullptr;
};

std::unique_ptr<RecordedWork> Record(torch::Device device, std::function<void()> work) {
  return std::make_unique<CudaGraph>(device.index(), work);
}

CudaStream StreamOf(const torch::Tensor& tensor) {
  return c10::cuda::getCurrentCUDAStream(tensor.get_device());
}

}  // namespace

const CudaBackend* BuiltCudaBackend() {
  static const CudaBackend backend{{}, &StreamOf, &Record};
  return &backend;
}

}  // namespace interlacer
