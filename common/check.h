#pragma once

/// INTERLACER_CHECK(condition, message) aborts with file and line when an invariant is broken,
/// which is a bug of this program. Bad input is never checked with it: it becomes a Status
/// (common/status.h).

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
