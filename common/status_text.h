#pragma once

/// Formats a Status for people. Pure function, thread-safe.

#include <string>

#include "common/status.h"

namespace interlacer {

/// The message with the whole path of the field in front, once: at views[0].data the message
/// "data: expected ..." becomes "views[0].data: expected ...". A message that begins with its path
/// already, or a Status without a field, stays as it is.
std::string MessageWithPath(const Status& status);

}  // namespace interlacer
