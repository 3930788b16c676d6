#pragma once

/// A sequence of CUDA launches recorded once as a CUDA graph and replayed by a single launch.
///
/// The work must issue the same operations on the current stream whenever it runs: fixed shapes, no
/// waiting for the device, no copies between host and device. A replay reads and writes the tensors
/// of the recorded run; tensors made during the run live in a pool of the recording until it is
/// destroyed. With the device emulated (model/cuda/device.h) a replay runs the work again. Errors:
/// c10::Error where the work cannot be recorded; it has then run and left no recording. Threads:
/// one at a time for a device's work; recordings wait for each other. Only c10 is used for CUDA
/// graphs, because libtorch_cuda is not linked.

#include <torch/types.h>

#include <functional>
#include <memory>

namespace interlacer {

class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  /// Replays the recording on the current stream.
  virtual void Replay() = 0;
};

/// Runs `work` once on a stream reserved for recordings, which warms up libraries and caches, and
/// then records it. Waits for the device.
std::unique_ptr<RecordedWork> RecordWork(torch::Device device, std::function<void()> work);

/// The part of RecordWork that needs the CUDA runtime.
std::unique_ptr<RecordedWork> RecordCudaGraph(torch::Device device,
                                              const std::function<void()>& work);

}  // namespace interlacer
