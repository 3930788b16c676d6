#pragma once

/// Where the stages of the whole model run, and how their work is timed there: one description of
/// `step`, `train_step` and `update` serves every device.

#include <torch/types.h>

#include <functional>
#include <string>
#include <utility>

#include "bench/case.h"

namespace interlacer::bench {

struct ModelPlace {
  torch::Device device{at::kCPU};
  /// Behind the stage in names of cases; ends in a slash unless it is empty.
  std::string infix;
  /// Steps are replays of a recording (model/step_graph.h).
  bool records_steps = false;
  std::function<Work(std::function<void()> body)> timed = [](std::function<void()> body) {
    return Timed(std::move(body));
  };
  /// Runs a reference that is the host's own; where a device is played, it is not meanwhile.
  std::function<void(const std::function<void()>& body)> on_host =
      [](const std::function<void()>& body) { body(); };
};

}  // namespace interlacer::bench
