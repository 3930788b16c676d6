#pragma once

/// One dynamics step of the whole model, neighbour search included: the problem, our way of solving
/// it and the peers that LibTorch offers on the same device.

#include <functional>
#include <memory>
#include <vector>

#include "bench/model_place.h"
#include "bench/options.h"
#include "model/step_graph.h"

namespace interlacer::bench {

struct StepProblem {
  StepProblem(const Options& options, const ModelPlace& place, LocalLayer local);

  std::shared_ptr<WorldModel> model;
  StepInput input;
  StepGraph steps;
};

/// What a step changes, so that what it copies does not hide errors. [n, 3 + features]
torch::Tensor ChangeOf(const StepInput& input, const CloudTensors& result);

struct StepStage {
  Case base;  ///< ours, as it is served, without a peer
  std::function<StepProblem&()> problem;
  std::vector<Case> cases;
};

/// Cases can be named where the place cannot compute.
StepStage MakeStepStage(const Options& options, const ModelPlace& place);

}  // namespace interlacer::bench
