#pragma once

/// How operations run on a CUDA device: its kernels, streams and recordings.
///
/// An operation that is given a backend passes pointers of its tensors to the kernels, on torch's
/// current stream, with scratch memory from torch's allocator in the order of the stream; without
/// one (null) it runs on the host. Nothing waits for the device. Errors: StatusException INTERNAL
/// DEVICE_LOST for a kernel that could not be launched. Threads: as the operation.

#include <torch/types.h>

#include <cstddef>
#include <functional>
#include <memory>

#include "model/cuda/cuda_kernels.h"

namespace interlacer {

/// A sequence of launches recorded once and replayed by a single launch.
///
/// The work must issue the same operations on the current stream whenever it runs: fixed shapes, no
/// waiting for the device, no copies between host and device. A replay reads and writes the tensors
/// of the recorded run; tensors made during the run live in a pool of the recording until it is
/// destroyed.
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  /// Replays the recording on the current stream.
  virtual void Replay() = 0;
};

struct CudaBackend {
  CudaKernels kernels;
  /// The current stream of a tensor's device.
  CudaStream (*stream_of)(const torch::Tensor& tensor) = nullptr;
  /// Runs `work` once, which warms up libraries and caches, and then records it. Waits for the
  /// device. Errors: c10::Error where the work cannot be recorded; it has then run and left no
  /// recording. Threads: one at a time for a device's work; recordings wait for each other.
  std::unique_ptr<RecordedWork> (*record)(torch::Device device,
                                          std::function<void()> work) = nullptr;

  /// Throws if a launcher returned an error.
  void Check(CudaError error, const char* kernel) const;
};

/// Uninitialised memory on the device of `like`; may be released once its kernels are launched.
torch::Tensor DeviceScratch(std::size_t size_bytes, const torch::Tensor& like);

}  // namespace interlacer
