#pragma once

/// INTERLACER_CHECK(condition, message): a broken invariant is our bug and aborts with file and
/// line. Never for input: bad input is a Status (common/status.h).

#include <string_view>

namespace interlacer {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view message);

}  // namespace interlacer

#define INTERLACER_CHECK(condition, message)                                \
  do {                                                                      \
    if (!(condition)) {                                                     \
      ::interlacer::CheckFailed(__FILE__, __LINE__, #condition, (message)); \
    }                                                                       \
  } while (false)
