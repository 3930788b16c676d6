#pragma once

/// PredictRollout: admission, then one message a step through the sink.

#include "server/calls/incoming_call.h"
#include "server/calls/response_sink.h"
#include "server/calls/server_context.h"

namespace interlacer {

void StartPredictRollout(const ServerContext& server, IncomingCall call, ResponseSink* sink);

}  // namespace interlacer
