#pragma once

/// Implements ResponseSink by gRPC reactors: one for unary methods, one for server streams.
///
/// The stream buffers a few messages (at least one) and keeps one write outstanding. A sink owns
/// itself: it is deleted when the library has finished with the call, which is after Finish. The
/// listener is kept until then.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "common/status.h"
#include "server/calls/call_registry.h"
#include "server/calls/response_sink.h"
#include "server/flight_recorder.h"

namespace interlacer {

/// What both kinds have: the listener, and how a call ends from outside.
template <typename Reactor>
class ReactorSink : public Reactor, public ResponseSink {
 public:
  void SetListener(std::shared_ptr<SinkListener> listener) override {
    std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
  }
  void Abort() override {
    if (const auto listener = CurrentListener()) listener->OnReset();
    context_->TryCancel();
  }
  std::int64_t sent_bytes() const override { return sent_bytes_; }

 protected:
  explicit ReactorSink(grpc::CallbackServerContext* context) : context_(context) {}

  std::atomic<std::int64_t> sent_bytes_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<SinkListener> listener_;

 private:
  std::shared_ptr<SinkListener> CurrentListener() const {
    std::lock_guard lock(mutex_);
    return listener_;
  }
  void OnCancel() override {
    if (const auto listener = CurrentListener()) listener->OnClientGone();
  }
  void OnDone() override { delete this; }

  grpc::CallbackServerContext* const context_;
};

class UnarySink final : public ReactorSink<grpc::ServerUnaryReactor> {
 public:
  UnarySink(grpc::CallbackServerContext* context, grpc::ByteBuffer* response,
            CallRegistry* registry)
      : ReactorSink(context), response_(response), entry_(registry, this) {}

  bool HasRoom() const override { return true; }
  void Send(grpc::ByteBuffer message) override;
  void Finish(const Status& status) override;
  void FinishWith(grpc::ByteBuffer message) override;
  std::int64_t unsent_bytes() const override { return sent_bytes_; }
  std::optional<std::chrono::steady_clock::time_point> stalled_since() const override;

 private:
  grpc::ByteBuffer* const response_;
  /// Set by Finish: from then on the client is awaited.
  std::optional<std::chrono::steady_clock::time_point> finish_time_;
  /// The last member: the registry may ask the sink until this one is destroyed.
  const CallRegistry::Entry entry_;
};

class StreamSink final : public ReactorSink<grpc::ServerWriteReactor<grpc::ByteBuffer>> {
 public:
  StreamSink(grpc::CallbackServerContext* context, int max_messages, std::int64_t max_bytes,
             CallRegistry* registry)
      : ReactorSink(context),
        max_messages_(max_messages),
        max_bytes_(max_bytes),
        entry_(registry, this) {}

  /// From now on what is sent is recorded. Before the first message.
  void Record(FlightRecorder::Call call) { recording_.emplace(std::move(call)); }

  bool HasRoom() const override;
  void Send(grpc::ByteBuffer message) override;
  void Finish(const Status& status) override;
  void FinishWith(grpc::ByteBuffer message) override;
  std::int64_t unsent_bytes() const override;
  std::optional<std::chrono::steady_clock::time_point> stalled_since() const override;

 private:
  using Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>;

  /// The next operation to start on the reactor.
  struct Action {
    const grpc::ByteBuffer* write = nullptr;
    std::optional<grpc::Status> finish;
  };

  /// Both require the lock.
  void Buffer(grpc::ByteBuffer message);
  Action NextAction();
  void Do(Action action);

  void OnWriteDone(bool ok) override;

  const int max_messages_;
  const std::int64_t max_bytes_;
  std::optional<FlightRecorder::Call> recording_;

  /// The front is the message being written.
  std::deque<grpc::ByteBuffer> messages_;
  std::int64_t buffered_bytes_ = 0;
  bool is_broken_ = false;
  /// From the moment at which the status is passed to the library.
  bool is_finishing_ = false;
  std::chrono::steady_clock::time_point write_start_;
  /// Set by Finish until the status is passed to the library.
  std::optional<grpc::Status> final_status_;
  /// The last member: the registry may ask the sink until this one is destroyed.
  const CallRegistry::Entry entry_;
};

}  // namespace interlacer
