#pragma once

/// A device on which the stages of the whole model run, with its timing method: `step`,
/// `train_step` and `update` are described once for all devices.

#include <torch/types.h>

#include <functional>
#include <string>
#include <utility>

#include "bench/case.h"

namespace interlacer::bench {

struct ModelDevice {
  torch::Device device{at::kCPU};
  /// Follows the stage in names of cases; empty, or ends in a slash.
  std::string infix;
  /// Steps are replays of a recording (model/step_graph.h).
  bool records_steps = false;
  std::function<Work(std::function<void()> body)> timed = [](std::function<void()> body) {
    return Timed(std::move(body));
  };
  /// Runs a reference computation on the host; an emulated device is switched off meanwhile.
  std::function<void(const std::function<void()>& body)> on_host =
      [](const std::function<void()>& body) { body(); };
};

}  // namespace interlacer::bench
