#pragma once

/// Counters of the models since the start, for clients without a metrics endpoint. Thread-safe.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "common/prediction.h"
#include "common/status.h"
#include "server/call_record.h"

namespace interlacer {

struct ModelCounts {
  std::int64_t success_count = 0;
  /// By reason word; errors of the library without one by the name of their code.
  std::map<std::string, std::int64_t> failure_count_by_reason;
  std::int64_t step_count = 0;
  /// Candidates finished, also those that failed.
  std::int64_t candidate_count = 0;
  /// Sums over all calls.
  StageDurations durations;
};

class ModelStatistics {
 public:
  /// Calls that found no model do not count.
  void CountCall(const CallRecord& record, const Status& status);
  void CountStep(const std::string& model_name);
  void CountCandidate(const std::string& model_name);
  /// Zeros for a model without calls.
  ModelCounts Of(const std::string& model_name) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, ModelCounts> counts_;
};

}  // namespace interlacer
