#include "server/transport/message_reader.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace interlacer {

using http2::Bytes;

namespace {

Status TooLarge(const std::string& what, std::int64_t got_bytes, std::int64_t limit_bytes,
                const std::string& help) {
  const std::string got = std::to_string(got_bytes), limit = std::to_string(limit_bytes);
  return ResourceExhausted(reason::HOST_MEMORY,
                           what + " " + got + " bytes, the limit is " + limit + help)
      .WithMetadata("got", got)
      .WithMetadata("limit", limit);
}

}  // namespace

Status MessageReader::Read(Bytes bytes, Clock::time_point now, std::int64_t max_message_bytes) {
  while (!bytes.empty()) {
    if (prefix_count_ < kPrefixBytes) {
      if (prefix_count_ == 0 && has_message_) start_ = now;
      prefix_[prefix_count_++] = bytes.front();
      ++waiting_bytes_;
      bytes = bytes.subspan(1);
      if (prefix_count_ < kPrefixBytes) continue;
      if (prefix_[0] != 0) {
        return Unimplemented(reason::FEATURE_NOT_BUILT, "this server takes no compressed messages");
      }
      left_bytes_ = http2::ReadNumber(Bytes(prefix_).subspan(1));
      if (left_bytes_ > max_message_bytes) {
        return TooLarge("a message has", left_bytes_, max_message_bytes,
                        ", --max-request-bytes of methods that take frames");
      }
      if (has_message_) later_bytes_ += left_bytes_ + static_cast<std::int64_t>(kPrefixBytes);
      if (later_bytes_ > kMaxLaterBytes) {
        return TooLarge("the messages behind the first have", later_bytes_, kMaxLaterBytes, "");
      }
    }
    const auto count = std::min<std::int64_t>(left_bytes_, std::ssize(bytes));
    left_bytes_ -= count;
    waiting_bytes_ += count;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    if (left_bytes_ > 0) continue;
    has_message_ = true;
    prefix_count_ = 0;
    waiting_bytes_ = 0;
  }
  return Status::Ok();
}

void MessageReader::End() {
  is_ended_ = true;
  waiting_bytes_ = 0;
}

}  // namespace interlacer
