#include "common/status.h"

namespace interlacer {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kUnknown:
      return "UNKNOWN";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kAborted:
      return "ABORTED";
    case StatusCode::kOutOfRange:
      return "OUT_OF_RANGE";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kInternal:
      return "INTERNAL";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
  }
  return "UNKNOWN";
}

Status& Status::WithField(std::string field) & {
  field_ = std::move(field);
  return *this;
}

Status&& Status::WithField(std::string field) && {
  field_ = std::move(field);
  return std::move(*this);
}

Status&& Status::WithFieldPrefix(std::string_view prefix) && {
  constexpr std::string_view kSeparators = "./:";
  if (field_.empty()) {
    field_ = std::string(prefix.substr(0, prefix.find_last_not_of(kSeparators) + 1));
  } else if (!prefix.empty()) {
    const bool joined =
        kSeparators.find(prefix.back()) != std::string_view::npos || field_.front() == '[';
    field_ = std::string(prefix) + (joined ? "" : ".") + field_;
  }
  return std::move(*this);
}

Status&& Status::WithMetadata(std::string key, std::string value) && {
  metadata_[std::move(key)] = std::move(value);
  return std::move(*this);
}

std::string Status::ToString() const {
  std::string text(StatusCodeName(code_));
  if (ok()) return text;
  if (!reason_.empty()) text += " " + reason_;
  return text + ": " + MessageWithPath(*this);
}

std::string MessageWithPath(const Status& status) {
  const std::string& field = status.field();
  const std::string& message = status.message();
  if (field.empty() || message.starts_with(field)) return message;
  const std::size_t colon = message.find(": ");
  const bool starts_with_name =
      colon != std::string::npos && field.ends_with(message.substr(0, colon));
  return field + (starts_with_name ? message.substr(colon) : ": " + message);
}

Status InvalidArgument(std::string_view reason, std::string message) {
  return {StatusCode::kInvalidArgument, reason, std::move(message)};
}
Status OutOfRange(std::string_view reason, std::string message) {
  return {StatusCode::kOutOfRange, reason, std::move(message)};
}
Status NotFound(std::string_view reason, std::string message) {
  return {StatusCode::kNotFound, reason, std::move(message)};
}
Status FailedPrecondition(std::string_view reason, std::string message) {
  return {StatusCode::kFailedPrecondition, reason, std::move(message)};
}
Status ResourceExhausted(std::string_view reason, std::string message) {
  return {StatusCode::kResourceExhausted, reason, std::move(message)};
}
Status Unavailable(std::string_view reason, std::string message) {
  return {StatusCode::kUnavailable, reason, std::move(message)};
}
Status DeadlineExceeded(std::string_view reason, std::string message) {
  return {StatusCode::kDeadlineExceeded, reason, std::move(message)};
}
Status Cancelled(std::string message) {
  return {StatusCode::kCancelled, reason::CANCELLED_BY_CALLER, std::move(message)};
}
Status DataLoss(std::string_view reason, std::string message) {
  return {StatusCode::kDataLoss, reason, std::move(message)};
}
Status Unimplemented(std::string_view reason, std::string message) {
  return {StatusCode::kUnimplemented, reason, std::move(message)};
}
Status Internal(std::string message) {
  return {StatusCode::kInternal, reason::INTERNAL_ERROR, std::move(message)};
}

Status Mismatch(std::string_view reason, std::string field, std::string expected, std::string got) {
  return InvalidArgument(reason, field + ": expected " + expected + ", got " + got)
      .WithField(std::move(field))
      .WithMetadata("expected", std::move(expected))
      .WithMetadata("got", std::move(got));
}

}  // namespace interlacer
