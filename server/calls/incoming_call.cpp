#include "server/calls/incoming_call.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace interlacer {
namespace {

constexpr std::chrono::seconds kNoDeadline = std::chrono::hours(24 * 365);

/// The longest time that a client may name has more nanoseconds than a number of 64 bits.
Clock::time_point DeadlineOf(const grpc::CallbackServerContext& context) {
  const gpr_timespec deadline = context.raw_deadline();
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  constexpr std::int64_t kMostS = kNoDeadline.count();
  return Clock::now() +
         std::chrono::seconds(std::clamp<std::int64_t>(left.tv_sec, -kMostS, kMostS)) +
         std::chrono::nanoseconds(left.tv_nsec);
}

std::string Metadata(const grpc::CallbackServerContext& context, const char* key) {
  const auto it = context.client_metadata().find(key);
  if (it == context.client_metadata().end()) return "";
  return LoggableId({it->second.data(), it->second.size()});
}

}  // namespace

IncomingCall ReadContext(const grpc::CallbackServerContext& context, std::string method,
                         const grpc::ByteBuffer& request) {
  IncomingCall call;
  call.record.method = std::move(method);
  call.record.peer = context.peer();
  call.record.request_id = Metadata(context, "x-request-id");
  call.record.traceparent = Metadata(context, "traceparent");
  call.record.request_bytes = static_cast<std::int64_t>(request.Length());
  call.deadline = DeadlineOf(context);
  call.request = &request;
  return call;
}

}  // namespace interlacer
