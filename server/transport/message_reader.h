#pragma once

/// Follows the messages of one call on their way to the gRPC library: five bytes that announce a
/// message, then the message, again and again. Checks each as soon as it is announced. One thread.
///
/// All methods but reflection take one message. The library keeps what comes behind it, unread, up
/// to windows that it widens for fast clients, and nobody counts it: so that is little.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "common/status.h"
#include "server/transport/http2_frame.h"

namespace interlacer {

class MessageReader {
 public:
  using Clock = std::chrono::steady_clock;

  /// `start`: when the call began.
  explicit MessageReader(Clock::time_point start) : start_(start) {}

  /// Errors: UNIMPLEMENTED for a compressed message, RESOURCE_EXHAUSTED HOST_MEMORY for one of more
  /// than `max_message_bytes` and for more than kMaxLaterBytes behind the first; the call is over
  /// then.
  Status Read(http2::Bytes bytes, Clock::time_point now, std::int64_t max_message_bytes);
  /// The client has sent all of its side.
  void End();

  bool is_ended() const { return is_ended_; }
  bool has_message() const { return has_message_; }
  /// Whether the rest of a message is to come, the first one of the call or a further one that has
  /// begun; and since when it has been under way.
  bool is_uploading() const { return !is_ended_ && (!has_message_ || prefix_count_ > 0); }
  Clock::time_point start() const { return start_; }
  /// Bytes so far of the message that is not whole yet.
  std::int64_t waiting_bytes() const { return waiting_bytes_; }

 private:
  static constexpr std::size_t kPrefixBytes = 5;
  static constexpr std::int64_t kMaxLaterBytes = 64 << 10;
  Clock::time_point start_;
  std::array<std::uint8_t, kPrefixBytes> prefix_{};
  std::size_t prefix_count_ = 0;
  std::int64_t left_bytes_ = 0;
  std::int64_t waiting_bytes_ = 0;
  std::int64_t later_bytes_ = 0;
  bool has_message_ = false;
  bool is_ended_ = false;
};

}  // namespace interlacer
