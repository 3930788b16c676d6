#pragma once

/// ValidateScene: admission, decoding and lift; no dynamics. Answers through the sink.

#include "server/calls/incoming_call.h"
#include "server/calls/response_sink.h"
#include "server/calls/server_context.h"

namespace interlacer {

void StartValidateScene(const ServerContext& server, IncomingCall call, ResponseSink* sink);

}  // namespace interlacer
