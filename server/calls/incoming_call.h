#pragma once

/// The data that gRPC delivers with a call, and parsing and serialisation of messages.

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <chrono>
#include <string>

#include "common/status.h"
#include "server/call_record.h"
#include "server/calls/device_worker.h"
#include "server/convert/pixel_payloads.h"

namespace interlacer {

struct IncomingCall {
  CallRecord record;
  /// A time in the far future when the client set none.
  Clock::time_point deadline;
  /// Valid until the handler returns.
  const grpc::ByteBuffer* request = nullptr;
};

/// Peer, deadline and the loggable parts of the metadata (x-request-id, traceparent).
IncomingCall ReadContext(const grpc::CallbackServerContext& context, std::string method,
                         const grpc::ByteBuffer& request);

/// Parses a message without pixels. Errors: those of ParseWithoutPixels.
template <typename Message>
Status ParseRequest(const grpc::ByteBuffer& bytes, Message* message) {
  if (bytes.Length() > kMaxParsedBytes) return ParsedBytesExceeded();
  grpc::ByteBuffer copy(bytes);
  if (grpc::SerializationTraits<Message>::Deserialize(&copy, message).ok()) return Status::Ok();
  return Internal("the request is not a valid " + message->GetTypeName());
}

template <typename Message>
grpc::ByteBuffer SerializeResponse(const Message& message) {
  grpc::ByteBuffer bytes;
  bool owns_bytes = false;
  const grpc::Status status =
      grpc::SerializationTraits<Message>::Serialize(message, &bytes, &owns_bytes);
  INTERLACER_CHECK(status.ok(), status.error_message());
  return bytes;
}

}  // namespace interlacer
