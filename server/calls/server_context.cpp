#include "server/calls/server_context.h"

namespace interlacer {

void ServerContext::Count(const CallRecord& record, const Status& status) const {
  metrics.CountCall(record, status);
  if (status.reason() == reason::DEVICE_LOST) state.Advance(ServerState::kDeviceLost);
}

}  // namespace interlacer
