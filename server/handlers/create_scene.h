#pragma once

/// Handles the admission of CreateScene. The returned call, once started, decodes, lifts and keeps.
/// Errors: server/calls/admission.h; those of ParseWithoutPixels. Thread-safe.

#include <memory>

#include "common/status.h"
#include "server/calls/incoming_call.h"
#include "server/calls/response_sink.h"
#include "server/calls/scene_call.h"
#include "server/calls/server_context.h"

namespace interlacer {

StatusOr<std::shared_ptr<SceneCall>> CreateScene(const ServerContext& server, IncomingCall* call,
                                                 ResponseSink* sink);

}  // namespace interlacer
