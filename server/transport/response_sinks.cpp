#include "server/transport/response_sinks.h"

#include <utility>

#include "server/convert/grpc_status.h"

namespace interlacer {

void UnarySink::Send(grpc::ByteBuffer message) {
  sent_bytes_ += static_cast<std::int64_t>(message.Length());
  response_->Swap(&message);
}

void UnarySink::Finish(const Status& status) {
  {
    std::lock_guard lock(mutex_);
    finish_time_ = std::chrono::steady_clock::now();
  }
  grpc::ServerUnaryReactor::Finish(ToGrpcStatus(status));
}

void UnarySink::FinishWith(grpc::ByteBuffer message) {
  Send(std::move(message));
  Finish(Status::Ok());
}

std::optional<std::chrono::steady_clock::time_point> UnarySink::stalled_since() const {
  std::lock_guard lock(mutex_);
  return finish_time_;
}

bool StreamSink::HasRoom() const {
  std::lock_guard lock(mutex_);
  // An empty buffer takes a message of any size, else one above max_bytes_ could never be sent.
  return messages_.empty() ||
         (static_cast<int>(messages_.size()) < max_messages_ && buffered_bytes_ < max_bytes_);
}

std::int64_t StreamSink::unsent_bytes() const {
  std::lock_guard lock(mutex_);
  return buffered_bytes_;
}

std::optional<std::chrono::steady_clock::time_point> StreamSink::stalled_since() const {
  std::lock_guard lock(mutex_);
  if (messages_.empty() && !is_finishing_) return std::nullopt;
  return write_start_;
}

void StreamSink::Buffer(grpc::ByteBuffer message) {
  const auto bytes = static_cast<std::int64_t>(message.Length());
  sent_bytes_ += bytes;
  buffered_bytes_ += bytes;
  messages_.push_back(std::move(message));
}

StreamSink::Action StreamSink::NextAction() {
  Action action;
  if (!messages_.empty()) {
    write_start_ = std::chrono::steady_clock::now();
    action.write = &messages_.front();
  }
  // The status is sent together with the last message.
  if (messages_.size() <= 1) action.finish = std::exchange(final_status_, std::nullopt);
  if (action.finish) {
    is_finishing_ = true;
    write_start_ = std::chrono::steady_clock::now();
  }
  return action;
}

void StreamSink::Do(Action action) {
  if (action.write != nullptr && action.finish) {
    StartWriteAndFinish(action.write, {}, *std::move(action.finish));
  } else if (action.write != nullptr) {
    StartWrite(action.write);
  } else if (action.finish) {
    Reactor::Finish(*std::move(action.finish));
  }
}

void StreamSink::Send(grpc::ByteBuffer message) {
  if (recording_) recording_->AddResponse(message);
  Action action;
  {
    std::lock_guard lock(mutex_);
    if (is_broken_) return;
    Buffer(std::move(message));
    // A write is outstanding; OnWriteDone continues with this message.
    if (messages_.size() > 1) return;
    action = NextAction();
  }
  Do(std::move(action));
}

void StreamSink::OnWriteDone(bool ok) {
  Action action;
  std::shared_ptr<SinkListener> listener;
  {
    std::lock_guard lock(mutex_);
    buffered_bytes_ -= static_cast<std::int64_t>(messages_.front().Length());
    messages_.pop_front();
    if (!ok) {
      is_broken_ = true;
      messages_.clear();
      // Unsent messages are dropped, but a status that waits behind them must still be sent.
      buffered_bytes_ = 0;
    }
    action = NextAction();
    if (!action.finish) listener = listener_;
  }
  // With a status the sink may be deleted during Do, so the listener is called only without one.
  Do(std::move(action));
  if (listener != nullptr) listener->OnMessageSent();
}

void StreamSink::Finish(const Status& status) {
  if (recording_ && !status.ok()) recording_->AddError(status);
  Action action;
  {
    std::lock_guard lock(mutex_);
    final_status_ = ToGrpcStatus(status);
    // The status is sent with, or after, the last buffered message.
    if (!messages_.empty()) return;
    action = NextAction();
  }
  Do(std::move(action));
}

void StreamSink::FinishWith(grpc::ByteBuffer message) {
  if (recording_) recording_->AddResponse(message);
  Action action;
  {
    std::lock_guard lock(mutex_);
    final_status_ = grpc::Status::OK;
    const bool is_writing = !messages_.empty();
    if (!is_broken_) Buffer(std::move(message));
    if (is_writing) return;
    action = NextAction();
  }
  Do(std::move(action));
}

}  // namespace interlacer
