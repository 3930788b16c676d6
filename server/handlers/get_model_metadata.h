#pragma once

/// Handles GetModelMetadata: the contract of one model. Errors: those of ModelRegistry::Find.
/// Thread-safe.

#include "common/status.h"
#include "server/calls/server_context.h"
#include "server/convert/wire.h"

namespace interlacer {

StatusOr<wire::GetModelMetadataResponse> GetModelMetadata(
    const ServerContext& server, const wire::GetModelMetadataRequest& request);

}  // namespace interlacer
