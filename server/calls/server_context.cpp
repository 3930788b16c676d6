#include "server/calls/server_context.h"

namespace interlacer {

void ServerContext::Count(const CallRecord& record, const Status& status) const {
  metrics.CountCall(record, status);
  statistics.CountCall(record, status);
  if (status.reason() == reason::DEVICE_LOST) state.Advance(ServerState::kDeviceLost);
}

void ServerContext::Refuse(const CallRecord& record, const Status& status,
                           ResponseSink* sink) const {
  Count(record, status);
  sink->Finish(status);
  LogCall(record, status);
}

}  // namespace interlacer
