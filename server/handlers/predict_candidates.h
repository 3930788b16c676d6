#pragma once

/// Handles the admission of PredictCandidates. The returned call, once started, sends one message
/// per candidate to the sink. Errors: server/calls/admission.h; those of ParseWithoutPixels.
/// Thread-safe.

#include <memory>

#include "common/status.h"
#include "server/calls/incoming_call.h"
#include "server/calls/response_sink.h"
#include "server/calls/scene_call.h"
#include "server/calls/server_context.h"

namespace interlacer {

StatusOr<std::shared_ptr<SceneCall>> PredictCandidates(const ServerContext& server,
                                                       IncomingCall* call, ResponseSink* sink);

}  // namespace interlacer
