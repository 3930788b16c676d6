#include "server/model_statistics.h"

namespace interlacer {

void ModelStatistics::CountCall(const CallRecord& record, const Status& status) {
  if (record.model_name.empty()) return;
  std::lock_guard lock(mutex_);
  ModelCounts& counts = counts_[record.model_name];
  if (status.ok()) {
    ++counts.success_count;
  } else {
    const std::string code(StatusCodeName(status.code()));
    ++counts.failure_count_by_reason[status.reason().empty() ? code : status.reason()];
  }
  StageDurations& sum = counts.durations;
  const StageDurations& d = record.durations;
  sum.queue_s += d.queue_s;
  sum.decode_s += d.decode_s;
  sum.lift_s += d.lift_s;
  sum.dynamics_s += d.dynamics_s;
  sum.render_s += d.render_s;
  sum.encode_s += d.encode_s;
  sum.blocked_s += d.blocked_s;
}

void ModelStatistics::CountStep(const std::string& model_name) {
  std::lock_guard lock(mutex_);
  ++counts_[model_name].step_count;
}

void ModelStatistics::CountCandidate(const std::string& model_name) {
  std::lock_guard lock(mutex_);
  ++counts_[model_name].candidate_count;
}

ModelCounts ModelStatistics::Of(const std::string& model_name) const {
  std::lock_guard lock(mutex_);
  const auto found = counts_.find(model_name);
  return found == counts_.end() ? ModelCounts() : found->second;
}

}  // namespace interlacer
