#include "server/calls/candidates_call.h"

#include <cstdlib>

#include "common/number_text.h"
#include "server/calls/incoming_call.h"

namespace interlacer {

Status CandidatesCall::RunLifted() {
  Status status = runner_ ? runner_->RunUnit() : Begin();
  if (!status.ok()) return Fail(std::move(status));
  if (runner_->is_done()) SendCandidate();
  return Status::Ok();
}

Status CandidatesCall::Begin() {
  RolloutWriter* const writer = this;
  runner_.emplace(predictor(), candidates_[index_], output(), &record().durations, writer);
  Status status = runner_->Begin(scene(), admitted().checked.newest_capture_time_ns, selected_);
  if (status.reason() == reason::DEVICE_OUT_OF_MEMORY) {
    runner_.reset();  // may begin again
    return status;
  }
  selected_ = runner_->selected();
  // The predictor knows one action sequence.
  constexpr char kActions[] = "actions";
  if (status.field().starts_with(kActions)) {
    const std::string rest = status.field().substr(sizeof(kActions) - 1);
    status.WithField(Indexed("candidates", static_cast<int>(index_)) + rest);
  }
  return status;
}

Status CandidatesCall::Fail(Status status) {
  if (status.reason() != reason::PREDICTION_NOT_FINITE) return status;
  DropStep();
  message_.set_failure_reason(status.reason());
  const auto step = status.metadata().find("step");
  if (step != status.metadata().end()) message_.set_failed_step(std::atoi(step->second.c_str()));
  SendCandidate();
  return Status::Ok();
}

Status CandidatesCall::FinishStep(int step, std::int64_t predict_time_ns) {
  *message_.add_steps() = TakeStep(step, predict_time_ns);
  return Status::Ok();
}

void CandidatesCall::SendCandidate() {
  message_.set_request_id(request_id());
  message_.set_candidate_index(static_cast<int>(index_));
  server().metrics.CountCandidate(record().model_name);
  server().statistics.CountCandidate(record().model_name);
  RolloutSummary summary = runner_->Summary();
  computed_step_count_ += summary.computed_step_count;
  runner_.reset();
  if (++index_ < candidates_.size()) {
    Send(SerializeResponse(message_));
  } else {
    summary.computed_step_count = computed_step_count_;
    Summarize(std::move(summary), message_.mutable_summary());
    SendLast(SerializeResponse(message_));
  }
  message_.Clear();
}

void CandidatesCall::FreeDeviceState() {
  runner_.reset();
  SceneCall::FreeDeviceState();
}

}  // namespace interlacer
