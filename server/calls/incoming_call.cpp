#include "server/calls/incoming_call.h"

#include <utility>

namespace interlacer {
namespace {

constexpr std::chrono::hours kNoDeadline(24 * 365);

Clock::time_point DeadlineOf(const grpc::CallbackServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  return Clock::now() +
         (left < kNoDeadline ? std::chrono::duration_cast<Clock::duration>(left) : kNoDeadline);
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
