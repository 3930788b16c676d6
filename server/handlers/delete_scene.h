#pragma once

/// Handles DeleteScene: frees a scene, also while calls use it; an unknown one is no error. Errors:
/// none. Thread-safe.

#include "common/status.h"
#include "server/calls/server_context.h"
#include "server/convert/wire.h"

namespace interlacer {

StatusOr<wire::DeleteSceneResponse> DeleteScene(const ServerContext& server,
                                                const wire::DeleteSceneRequest& request);

}  // namespace interlacer
