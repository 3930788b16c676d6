#pragma once

/// Admission of prediction calls, after the check of the server's state (handlers). Order: request
/// id and model - counts against limits - calibration, history and action checks - cost against
/// deadline - host memory. The queue slot comes last, in SceneCall::Start. No pixels are decoded
/// and no memory for them is allocated here.
///
/// Errors: those of convert/*.h with field paths from the request; UNAVAILABLE MODEL_LOADING;
/// NOT_FOUND MODEL_NOT_FOUND; DEADLINE_EXCEEDED DEADLINE_TOO_SHORT; RESOURCE_EXHAUSTED HOST_MEMORY.
/// Thread-safe.

#include <string>

#include "common/prediction.h"
#include "common/scene.h"
#include "common/status.h"
#include "server/calls/incoming_call.h"
#include "server/calls/scene_call.h"
#include "server/calls/server_context.h"

namespace interlacer {

struct AdmittedRollout {
  AdmittedScene scene;
  ActionSequence actions;
  OutputOptions output;
};

/// Both functions fill `call->record` for the log line and move the frames out of `request`; their
/// pixels are in `payloads`.
StatusOr<AdmittedScene> AdmitValidation(const ServerContext& server,
                                        wire::ValidateSceneRequest* request, PixelPayloads payloads,
                                        IncomingCall* call);
StatusOr<AdmittedRollout> AdmitRollout(const ServerContext& server,
                                       wire::PredictRolloutRequest* request, PixelPayloads payloads,
                                       IncomingCall* call);

}  // namespace interlacer
