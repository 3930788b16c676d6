#pragma once

/// ValidateScene: admission, decoding and lift; no dynamics. Answers through the sink.

#include "server/incoming_call.h"
#include "server/response_sink.h"
#include "server/server_context.h"

namespace interlacer {

void StartValidateScene(const ServerContext& server, IncomingCall call, ResponseSink* sink);

}  // namespace interlacer
