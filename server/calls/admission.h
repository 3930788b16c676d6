#pragma once

/// Admission of prediction calls, after the check of the server's state (handlers). Order: request
/// id and model - counts against limits - calibration, history and action checks - cost against
/// deadline - host memory. The queue slot comes last, in SceneCall::Start. No pixels are decoded
/// and no memory for them is allocated here.
///
/// Errors: those of convert/*.h with field paths from the request; UNAVAILABLE MODEL_LOADING;
/// NOT_FOUND MODEL_NOT_FOUND, SCENE_NOT_FOUND; FAILED_PRECONDITION SCENE_MODEL_MISMATCH;
/// DEADLINE_EXCEEDED CALL_TOO_LONG, DEADLINE_TOO_SHORT; RESOURCE_EXHAUSTED HOST_MEMORY,
/// SCENE_LIMIT; OUT_OF_RANGE HOST_MEMORY. Thread-safe.

#include <vector>

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

struct AdmittedCandidates {
  AdmittedScene scene;
  std::vector<ActionSequence> candidates;
  OutputOptions output;
};

struct AdmittedCreation {
  AdmittedScene scene;
  SceneStore::Place place;
  double time_to_live_s = 0;
};

struct AdmittedUpdate {
  AdmittedScene scene;
  /// The scene that is to be moved on.
  SceneLease before;
};

/// All functions fill `call->record` for the log line and move the frames out of `request`; their
/// pixels are in `payloads`.
StatusOr<AdmittedScene> AdmitValidation(const ServerContext& server,
                                        wire::ValidateSceneRequest* request, PixelPayloads payloads,
                                        IncomingCall* call);
StatusOr<AdmittedRollout> AdmitRollout(const ServerContext& server,
                                       wire::PredictRolloutRequest* request, PixelPayloads payloads,
                                       IncomingCall* call);
StatusOr<AdmittedCandidates> AdmitCandidates(const ServerContext& server,
                                             wire::PredictCandidatesRequest* request,
                                             PixelPayloads payloads, IncomingCall* call);
StatusOr<AdmittedCreation> AdmitCreation(const ServerContext& server,
                                         wire::CreateSceneRequest* request, PixelPayloads payloads,
                                         IncomingCall* call);
StatusOr<AdmittedUpdate> AdmitUpdate(const ServerContext& server, wire::UpdateSceneRequest* request,
                                     PixelPayloads payloads, IncomingCall* call);

}  // namespace interlacer
