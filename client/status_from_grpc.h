#pragma once

/// Converts a grpc::Status to a Status: code, message, reason word and metadata of
/// google.rpc.ErrorInfo, field of google.rpc.BadRequest. Details that do not parse are ignored.
/// Thread-safe.

#include <grpcpp/support/status.h>

#include "common/status.h"

namespace interlacer {

Status StatusFromGrpc(const grpc::Status& status);

}  // namespace interlacer
