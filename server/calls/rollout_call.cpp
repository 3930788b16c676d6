#include "server/calls/rollout_call.h"

#include "server/calls/incoming_call.h"

namespace interlacer {

Status RolloutCall::FinishStep(int step, std::int64_t predict_time_ns) {
  wire::PredictRolloutResponse message;
  message.set_request_id(request_id());
  *message.mutable_step() = TakeStep(step, predict_time_ns);
  if (runner_.is_done()) {
    Summarize(runner_.Summary(), message.mutable_summary());
    SendLast(SerializeResponse(message));
  } else {
    Send(SerializeResponse(message));
  }
  return Status::Ok();
}

}  // namespace interlacer
