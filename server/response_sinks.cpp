#include "server/response_sinks.h"

#include <utility>

#include "server/grpc_status.h"

namespace interlacer {

void UnarySink::SetListener(std::shared_ptr<SinkListener> listener) {
  std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
}

void UnarySink::Send(grpc::ByteBuffer message) {
  sent_bytes_ += static_cast<std::int64_t>(message.Length());
  response_->Swap(&message);
}

void UnarySink::Finish(const Status& status) {
  grpc::ServerUnaryReactor::Finish(ToGrpcStatus(status));
}

void UnarySink::OnCancel() {
  std::shared_ptr<SinkListener> listener;
  {
    std::lock_guard lock(mutex_);
    listener = listener_;
  }
  if (listener != nullptr) listener->OnClientGone();
}

void StreamSink::SetListener(std::shared_ptr<SinkListener> listener) {
  std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
}

bool StreamSink::HasRoom() const {
  std::lock_guard lock(mutex_);
  return messages_.empty() ||
         (static_cast<int>(messages_.size()) < max_messages_ && buffered_bytes_ < max_bytes_);
}

std::optional<std::chrono::steady_clock::time_point> StreamSink::stalled_since() const {
  std::lock_guard lock(mutex_);
  if (messages_.empty()) return std::nullopt;
  return write_start_;
}

void StreamSink::Send(grpc::ByteBuffer message) {
  const grpc::ByteBuffer* first = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (is_broken_) return;
    const auto bytes = static_cast<std::int64_t>(message.Length());
    sent_bytes_ += bytes;
    buffered_bytes_ += bytes;
    messages_.push_back(std::move(message));
    if (messages_.size() == 1) {
      write_start_ = std::chrono::steady_clock::now();
      first = &messages_.front();
    }
  }
  if (first != nullptr) StartWrite(first);
}

void StreamSink::OnWriteDone(bool ok) {
  const grpc::ByteBuffer* next = nullptr;
  std::optional<grpc::Status> final_status;
  std::shared_ptr<SinkListener> listener;
  {
    std::lock_guard lock(mutex_);
    buffered_bytes_ -= static_cast<std::int64_t>(messages_.front().Length());
    messages_.pop_front();
    if (!ok) {
      is_broken_ = true;
      messages_.clear();
      buffered_bytes_ = 0;
    }
    if (!messages_.empty()) {
      write_start_ = std::chrono::steady_clock::now();
      next = &messages_.front();
    } else {
      final_status = std::move(final_status_);
    }
    listener = listener_;
  }
  if (next != nullptr) StartWrite(next);
  if (final_status.has_value()) {
    grpc::ServerWriteReactor<grpc::ByteBuffer>::Finish(*final_status);
  } else if (listener != nullptr) {
    listener->OnMessageSent();
  }
}

void StreamSink::Finish(const Status& status) {
  {
    std::lock_guard lock(mutex_);
    if (!messages_.empty()) {
      final_status_ = ToGrpcStatus(status);
      return;
    }
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>::Finish(ToGrpcStatus(status));
}

void StreamSink::OnCancel() {
  std::shared_ptr<SinkListener> listener;
  {
    std::lock_guard lock(mutex_);
    listener = listener_;
  }
  if (listener != nullptr) listener->OnClientGone();
}

}  // namespace interlacer
