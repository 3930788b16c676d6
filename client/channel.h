#pragma once

/// The channel to a server, with the limits, pings and retries of all clients. It connects at the
/// first call. Errors: INVALID_ARGUMENT ARGUMENT_INVALID naming the option; those of
/// common/file_io.h for the files of TLS. Thread-safe.

#include <grpcpp/channel.h>

#include <memory>

#include "client/interlacer_client.h"
#include "common/status.h"

namespace interlacer {

/// The longest pause between attempts to connect, of which the library takes a fifth more or less,
/// and the longest wait of a call for a connection that was lost: it sees one attempt at least.
inline constexpr int kMaxReconnectPauseMs = 800;
inline constexpr int kMaxConnectionWaitMs = 1000;

StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const ClientOptions& options);

}  // namespace interlacer
