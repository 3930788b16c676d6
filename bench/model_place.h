#pragma once

/// A device on which the stages of the whole model run, with its timing method: `step`,
/// `train_step` and `update` are described once for all devices.

#include <torch/types.h>

#include <functional>
#include <string>
#include <utility>

#include "bench/case.h"

namespace interlacer {
struct CudaBackend;
}

namespace interlacer::bench {

struct ModelDevice {
  torch::Device device{at::kCPU};
  const CudaBackend* cuda = nullptr;
  /// Follows the stage in names of cases; empty, or ends in a slash.
  std::string infix;
  std::function<Work(std::function<void()> body)> timed = [](std::function<void()> body) {
    return Timed(std::move(body));
  };

  /// Steps are replays of a recording (model/engine/step_graph.h): on a device, also one that is
  /// not there (its cases have names everywhere), and on an emulated one, whose tensors are the
  /// host's.
  bool records_steps() const { return cuda != nullptr || device.is_cuda(); }
};

}  // namespace interlacer::bench
