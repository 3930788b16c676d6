#pragma once

/// Loss and gradients of a training sequence: the problem, our way of solving it and the peers that
/// LibTorch offers on the same device.

#include <functional>
#include <memory>
#include <vector>

#include "bench/model_place.h"
#include "bench/train_problem.h"

namespace interlacer::bench {

struct TrainProblem {
  TrainProblem(const Options& options, const ModelPlace& place, LocalLayer local);

  /// For an eager twin on the place's device.
  Given MakeGiven() const;

  std::shared_ptr<WorldModel> model;
  Sequence sequence;
};

struct TrainStage {
  Case base;  ///< ours, without a peer
  std::function<TrainProblem&()> problem;
  std::vector<Case> cases;
};

/// Cases can be named where the place cannot compute.
TrainStage MakeTrainStage(const Options& options, const ModelPlace& place);

}  // namespace interlacer::bench
