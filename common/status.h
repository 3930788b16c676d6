#pragma once

/// Error values: what went wrong, where, what was expected and what came.
///
/// Codes are the canonical gRPC names without gRPC. A Status of bad input names the field
/// (a path such as `source.scene_input.observations[1].views[0].depth.data`) and carries expected
/// and got as metadata. Broken invariants use common/check.h instead. Thread-safety: value type.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "common/check.h"
#include "common/error_reasons.h"

namespace interlacer {

/// Canonical codes; the numbers are gRPC's.
enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

/// Upper-case name, such as "INVALID_ARGUMENT".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string_view reason, std::string message)
      : code_(code), reason_(reason), message_(std::move(message)) {}

  static Status Ok() { return Status(); }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& reason() const { return reason_; }
  const std::string& message() const { return message_; }
  /// Path of the offending field or file; may be empty.
  const std::string& field() const { return field_; }
  /// Numbers of the message for programs: expected, got, limit.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  Status& WithField(std::string field) &;
  Status&& WithField(std::string field) &&;
  /// Puts `prefix` before the field path: "views[0]" + "depth.data".
  Status&& WithFieldPrefix(std::string_view prefix) &&;
  Status&& WithMetadata(std::string key, std::string value) &&;

  /// "INVALID_ARGUMENT IMAGE_DATA_LENGTH: views[0].depth: ..." for logs and terminals.
  std::string ToString() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string reason_;
  std::string message_;
  std::string field_;
  std::map<std::string, std::string> metadata_;
};

Status InvalidArgument(std::string_view reason, std::string message);
Status OutOfRange(std::string_view reason, std::string message);
Status NotFound(std::string_view reason, std::string message);
Status FailedPrecondition(std::string_view reason, std::string message);
Status ResourceExhausted(std::string_view reason, std::string message);
Status Unavailable(std::string_view reason, std::string message);
Status DeadlineExceeded(std::string_view reason, std::string message);
Status Cancelled(std::string message);
Status DataLoss(std::string_view reason, std::string message);
Status Unimplemented(std::string_view reason, std::string message);
Status Internal(std::string message);

/// The usual input error: "field: expected E, got G", with both as metadata.
Status Mismatch(std::string_view reason, std::string field, std::string expected, std::string got);

/// The message with the whole path of the field in front, once: at views[0].data the message
/// "data: expected ..." becomes "views[0].data: expected ...". A message that begins with its path
/// already, or a Status without a field, stays as it is.
std::string MessageWithPath(const Status& status);

/// A value or the Status that explains its absence.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(T value) : data_(std::move(value)) {}        // NOLINT(google-explicit-constructor)
  StatusOr(Status status) : data_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    INTERLACER_CHECK(!std::get<Status>(data_).ok(), "StatusOr built from an OK status");
  }

  bool ok() const { return std::holds_alternative<T>(data_); }
  Status status() const { return ok() ? Status() : std::get<Status>(data_); }

  T& value() & {
    INTERLACER_CHECK(ok(), status().ToString());
    return std::get<T>(data_);
  }
  const T& value() const& {
    INTERLACER_CHECK(ok(), status().ToString());
    return std::get<T>(data_);
  }
  T&& value() && {
    INTERLACER_CHECK(ok(), status().ToString());
    return std::get<T>(std::move(data_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> data_;
};

}  // namespace interlacer

#define INTERLACER_RETURN_IF_ERROR(expr)                                      \
  do {                                                                        \
    if (::interlacer::Status status_ = (expr); !status_.ok()) return status_; \
  } while (false)

#define INTERLACER_CONCAT_INNER_(a, b) a##b
#define INTERLACER_CONCAT_(a, b) INTERLACER_CONCAT_INNER_(a, b)

/// INTERLACER_ASSIGN_OR_RETURN(auto x, MakeX()); works for move-only values too.
#define INTERLACER_ASSIGN_OR_RETURN(decl, expr) \
  INTERLACER_ASSIGN_OR_RETURN_IMPL_(INTERLACER_CONCAT_(status_or_, __LINE__), decl, expr)
#define INTERLACER_ASSIGN_OR_RETURN_IMPL_(tmp, decl, expr) \
  auto tmp = (expr);                                       \
  if (!tmp.ok()) return tmp.status();                      \
  decl = *std::move(tmp)
