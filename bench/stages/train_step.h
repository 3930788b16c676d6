#pragma once

/// Loss and gradients of a training sequence: the problem, our implementation and LibTorch's peers
/// on the same device. The gate checks a sequence of at most two steps, whatever is timed.

#include <functional>
#include <memory>
#include <vector>

#include "bench/model_place.h"
#include "bench/train_problem.h"

namespace interlacer::bench {

struct TrainProblem {
  TrainProblem(const Options& options, const ModelDevice& place, LocalLayer local);

  /// Inputs for an eager peer on the same device.
  Given MakeGiven() const;

  std::shared_ptr<WorldModel> model;
  Sequence sequence;
};

/// How far our gradients may be from those in float64, relative, where a float32 twin is
/// `twin_error` from them: ten times as far, at least 0.001 and at most 0.03. NaN for NaN.
double GradientBound(double twin_error);

struct TrainStage {
  Case base;  ///< our implementation, without a peer
  std::function<TrainProblem&()> problem;
  std::vector<Case> cases;
};

/// Cases can be named even where the device cannot compute.
TrainStage MakeTrainStage(const Options& options, const ModelDevice& place);

}  // namespace interlacer::bench
