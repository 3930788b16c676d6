#pragma once

/// Where a call sends its messages and, once, its status.

#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "common/status.h"

namespace interlacer {

/// What a sink tells the call; any thread, never while the sink holds a lock.
class SinkListener {
 public:
  virtual ~SinkListener() = default;
  /// The client went away or its deadline passed.
  virtual void OnClientGone() = 0;
  /// A message left; there is room for another one.
  virtual void OnMessageSent() = 0;
  /// The sink is about to be reset because the client does not read.
  virtual void OnReset() = 0;
};

/// Threads: any; Finish or FinishWith exactly once and nothing after it.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  /// Kept until the library is done with the call.
  virtual void SetListener(std::shared_ptr<SinkListener> listener) = 0;
  /// Whether another message may be buffered now.
  virtual bool HasRoom() const = 0;
  virtual void Send(grpc::ByteBuffer message) = 0;
  /// The status leaves after all messages.
  virtual void Finish(const Status& status) = 0;
  /// The last message and the status OK, together.
  virtual void FinishWith(grpc::ByteBuffer message) = 0;
  /// Resets the stream below a client that does not read; what has not left is lost.
  virtual void Abort() = 0;
  /// Bytes of all messages sent so far.
  virtual std::int64_t sent_bytes() const = 0;
  /// Since when a message has been waiting for the reader.
  virtual std::optional<std::chrono::steady_clock::time_point> stalled_since() const = 0;
};

}  // namespace interlacer
