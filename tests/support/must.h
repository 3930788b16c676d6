#pragma once

/// The value of what a test's set-up or its subject must give.

#include <stdexcept>
#include <string>
#include <utility>

#include "common/status.h"

namespace interlacer {

/// The value of `result`. Where there is none the test ends as failed, with the caller's place and
/// the status.
template <typename T>
T Must(StatusOr<T> result, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (result.ok()) return *std::move(result);
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " +
                           result.status().ToString());
}

}  // namespace interlacer
