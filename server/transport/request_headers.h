#pragma once

/// The header fields of a call on their way to the gRPC library, and those that refuse one.
///
/// Pure functions of their arguments.

#include <cstddef>
#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer {

/// Of all fields of a call, counted as RFC 9113 does: names, values, and 32 bytes for each.
inline constexpr std::size_t kMaxHeaderListBytes = 8 << 10;

/// Collects fields for the library.
class RequestHeaders {
 public:
  /// Fields that the library would take for a fault of the whole connection, or that end the
  /// process (CVE-2023-1428), are refused: binary values that are no base64, names and pseudo
  /// fields that HTTP/2 does not have, characters that steer a terminal.
  void Add(std::string_view name, std::string_view value);

  /// Errors: RESOURCE_EXHAUSTED HOST_MEMORY above kMaxHeaderListBytes; INVALID_ARGUMENT
  /// ARGUMENT_INVALID with the name of the field.
  const Status& status() const { return status_; }
  /// As a header block that refers to no earlier one.
  const std::string& block() const { return block_; }
  /// The method that is called, as the client names it.
  const std::string& path() const { return path_; }

 private:
  Status status_;
  std::string block_;
  std::string path_;
  std::size_t list_bytes_ = 0;
};

/// The header block of an answer that consists of a status alone.
std::string StatusBlock(const Status& status);

}  // namespace interlacer
