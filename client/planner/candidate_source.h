#pragma once

/// What answers a planner: many action sequences over one scene, wherever they are predicted.
///
/// Units and frames: common/prediction.h. Threads: one call at a time per source.

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "common/status.h"

namespace interlacer {

/// Rows of joint values, one a model step; of radians and metres by column, [row_count,columns].
struct PlanRows {
  int row_count = 0;
  int column_count = 0;
  std::vector<double> values;

  std::span<double> Row(int row) {
    return std::span(values).subspan(static_cast<std::size_t>(row) * column_count, column_count);
  }
  std::span<const double> Row(int row) const {
    return std::span(values).subspan(static_cast<std::size_t>(row) * column_count, column_count);
  }
};

/// As the wire and the models take them.
ActionSequence ToActions(const PlanRows& rows);

/// One finished candidate: the steps asked for, or why there are none (PREDICTION_NOT_FINITE).
struct CandidateOutcome {
  int index = 0;
  std::vector<PredictedStep> steps;
  std::string failure_reason;
};
using CandidateCallback = std::function<Status(CandidateOutcome outcome)>;

class CandidateSource {
 public:
  virtual ~CandidateSource() = default;

  virtual const ModelMetadata& metadata() const = 0;
  /// Calls `on_candidate` once for each, in any order, on the calling thread; an error that it
  /// returns ends the call, as does a stop request (CANCELLED). A candidate that fails alone is an
  /// outcome; every other error is returned.
  virtual Status Predict(std::span<const PlanRows> candidates, const OutputOptions& output,
                         const CandidateCallback& on_candidate, const std::stop_token& stop) = 0;
  /// Seconds that so many candidates of so many steps are expected to take.
  virtual double CostS(int candidate_count, int step_count) const = 0;
};

}  // namespace interlacer
