#pragma once

/// Receives a call's response messages and, once, its status.

#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "common/status.h"

namespace interlacer {

/// Events of a sink for its call; called on any thread, never while the sink holds a lock.
class SinkListener {
 public:
  virtual ~SinkListener() = default;
  /// The client disconnected or its deadline passed.
  virtual void OnClientGone() = 0;
  /// A message was sent; there is room for another one.
  virtual void OnMessageSent() = 0;
  /// The sink is about to be reset because the client does not read.
  virtual void OnReset() = 0;
};

/// Threads: any; Finish or FinishWith exactly once and nothing after it.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  /// The listener is kept until gRPC has finished with the call.
  virtual void SetListener(std::shared_ptr<SinkListener> listener) = 0;
  /// Whether another message may be buffered now.
  virtual bool HasRoom() const = 0;
  virtual void Send(grpc::ByteBuffer message) = 0;
  /// Sends the status after all messages.
  virtual void Finish(const Status& status) = 0;
  /// Sends the last message together with the status OK.
  virtual void FinishWith(grpc::ByteBuffer message) = 0;
  /// Resets the stream of a client that does not read; unsent messages are lost.
  virtual void Abort() = 0;
  /// Number of bytes of all messages sent so far.
  virtual std::int64_t sent_bytes() const = 0;
  /// Number of bytes that wait for the reader.
  virtual std::int64_t unsent_bytes() const = 0;
  /// Time since which a message or the status has been waiting for the reader.
  virtual std::optional<std::chrono::steady_clock::time_point> stalled_since() const = 0;
};

}  // namespace interlacer
