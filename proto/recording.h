#pragma once

/// The format of recordings of what went over the wire, which both clients and the server's flight
/// recorder write and `interlacer replay` reads.
///
/// A stream of google.protobuf.Any, each after its length as a varint ("delimited" messages): the
/// requests and answers of interlacer.v1, and google.rpc.Status of calls that failed. A
/// google.protobuf.UInt64Value says of which call the next message is; without one answers find
/// their request by request_id, errors by the one of google.rpc.RequestInfo among their details.
/// Pure functions, thread-safe.

#include <cstdint>
#include <string>
#include <string_view>

namespace interlacer::recording {

inline constexpr std::string_view kTypeUrlPrefix = "type.googleapis.com/";

inline void AppendVarint(std::uint64_t number, std::string* out) {
  for (; number > 0x7F; number >>= 7) {
    out->push_back(static_cast<char>((number & 0x7F) | 0x80));
  }
  out->push_back(static_cast<char>(number));
}

/// A field of bytes or text of a message: what lies before its value.
inline void AppendFieldHead(std::uint32_t number, std::uint64_t value_bytes, std::string* out) {
  AppendVarint(std::uint64_t{number} << 3 | 2, out);
  AppendVarint(value_bytes, out);
}

inline constexpr std::string_view kCallName = "google.protobuf.UInt64Value";

/// All of a record that lies before the bytes of its message, such as "interlacer.v1.SceneInput".
inline std::string RecordHead(std::string_view message_name, std::uint64_t message_bytes) {
  std::string any;
  AppendFieldHead(1, kTypeUrlPrefix.size() + message_name.size(), &any);
  any.append(kTypeUrlPrefix).append(message_name);
  AppendFieldHead(2, message_bytes, &any);
  std::string head;
  AppendVarint(any.size() + message_bytes, &head);
  return head + any;
}

/// The record that gives the next message to a call.
inline std::string CallRecord(std::uint64_t call_number) {
  std::string value;
  AppendVarint(1 << 3, &value);
  AppendVarint(call_number, &value);
  return RecordHead(kCallName, value.size()) + value;
}

}  // namespace interlacer::recording
