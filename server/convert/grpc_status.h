#pragma once

/// Converts Status to grpc::Status with google.rpc details: ErrorInfo (domain "interlacer", reason,
/// metadata), BadRequest for an error with a field path, RetryInfo for the metadata of
/// common/retry_delay.h.
///
/// The details stay below 2 KiB: whole metadata entries and then the field description are omitted
/// when they do not fit. Thread-safe.

#include <grpcpp/support/status.h>

#include "common/status.h"

namespace interlacer {

inline constexpr std::size_t kMaxDetailBytes = 2048;

grpc::Status ToGrpcStatus(const Status& status);

}  // namespace interlacer
