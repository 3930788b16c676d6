#pragma once

/// Work of a CUDA device, recorded once as a CUDA graph and done again by a single launch.
///
/// The work must put the same operations on the current stream whenever it runs: fixed shapes, and
/// nothing that waits for the device or copies from or to the host. A replay reads and writes the
/// tensors of the recorded run; those that the run made live in memory of their own until the
/// recording ends. With the device emulated (model/cuda/device.h) a replay runs the work again.
/// Errors: c10::Error where the work cannot be recorded; it has then run and left no recording.
/// Threads: one at a time for a device's work; recordings wait for each other. The CUDA graph is of
/// c10's parts alone, for libtorch_cuda is not linked.

#include <torch/types.h>

#include <functional>
#include <memory>

namespace interlacer {

class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  /// On the current stream.
  virtual void Replay() = 0;
};

/// Runs `work` on a stream that only recordings use, so that libraries and caches have what they
/// keep, and records it. Waits for the device.
std::unique_ptr<RecordedWork> RecordWork(torch::Device device, std::function<void()> work);

/// The part of RecordWork that needs the CUDA runtime.
std::unique_ptr<RecordedWork> RecordCudaGraph(torch::Device device,
                                              const std::function<void()>& work);

}  // namespace interlacer
