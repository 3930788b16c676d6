#pragma once

/// Carries a Status as an exception through torch code, where errors are exceptions, until
/// CatchTorchErrors converts it back. Thread-safety: value types.

#include <exception>
#include <string>
#include <utility>

#include "common/status.h"

namespace interlacer {

class StatusException : public std::exception {
 public:
  explicit StatusException(Status status) : status_(std::move(status)), text_(status_.ToString()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
  std::string text_;
};

inline void ThrowIfError(const Status& status) {
  if (!status.ok()) throw StatusException(status);
}

template <typename T>
T ValueOrThrow(StatusOr<T> result) {
  ThrowIfError(result.status());
  return *std::move(result);
}

}  // namespace interlacer
