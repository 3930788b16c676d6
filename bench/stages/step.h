#pragma once

/// One dynamics step of the whole model, neighbour search included: the problem, our implementation
/// and LibTorch's peers on the same device.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/model_place.h"
#include "bench/options.h"
#include "model/engine/step_graph.h"

namespace interlacer::bench {

struct StepProblem {
  StepProblem(const Options& options, const ModelDevice& place, const InterlacerConfig& config);

  std::shared_ptr<WorldModel> model;
  StepInput input;
  StepGraph steps;
};

/// Name and sizes of a measurement of steps: "STAGE/VARIANT/CLOUD/TOKENS/dWIDTH/TYPE"; `variant` is
/// empty or ends with a slash.
Case DescribeStep(const Options& options, const std::string& stage, const std::string& variant,
                  const InterlacerConfig& config);

/// Error bound for operands rounded to bfloat16, and for sums in float32.
double StepErrorBound(const Options& options);

/// Change that a step makes, so that copied values do not hide errors. [n, 3 + features]
torch::Tensor ChangeOf(const StepInput& input, const CloudTensors& result);

struct StepStage {
  Case base;  ///< our implementation as served, without a peer
  std::function<StepProblem&()> problem;
  std::vector<Case> cases;
};

/// Cases can be named even where the device cannot compute.
StepStage MakeStepStage(const Options& options, const ModelDevice& place);

}  // namespace interlacer::bench
