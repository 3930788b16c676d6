#pragma once

/// The data of one call for its log line and the metrics. Value type.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/prediction.h"
#include "common/status.h"

namespace interlacer {

struct CallRecord {
  std::string method;
  std::string peer;
  std::string request_id;
  std::string traceparent;
  std::string model_name;
  std::string priority = "normal";
  /// Of one rollout.
  int step_count = 0;
  /// 0 for calls without candidates.
  int candidate_count = 0;
  int view_count = 0;
  std::int64_t request_bytes = 0;
  std::int64_t response_bytes = 0;
  StageDurations durations;
  /// Where a call was cancelled: "queue", "running" or "slow_reader".
  std::string cancelled_where;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Accepts up to 64 characters of A-Z a-z 0-9 . _ -, also none; else INVALID_ARGUMENT
/// REQUEST_ID_INVALID.
Status CheckRequestId(std::string_view request_id);

/// The part of a metadata value that may be logged: the value if it is an identifier as above, else
/// "".
std::string LoggableId(std::string_view value);

/// Writes the log line of a finished call.
void LogCall(const CallRecord& record, const Status& status);

}  // namespace interlacer
