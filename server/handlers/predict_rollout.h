#pragma once

/// PredictRollout: admission, then one message a step through the sink.

#include "server/incoming_call.h"
#include "server/response_sink.h"
#include "server/server_context.h"

namespace interlacer {

void StartPredictRollout(const ServerContext& server, IncomingCall call, ResponseSink* sink);

}  // namespace interlacer
