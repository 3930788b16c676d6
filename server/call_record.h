#pragma once

/// What is remembered of one call for its log line and the metrics. Value type.

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
  int step_count = 0;
  int view_count = 0;
  std::int64_t request_bytes = 0;
  std::int64_t response_bytes = 0;
  StageDurations durations;
  /// Where a cancelled call was: "queue", "running" or "slow_reader".
  std::string cancelled_where;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// At most 64 of A-Z a-z 0-9 . _ -, else INVALID_ARGUMENT REQUEST_ID_INVALID. Empty is fine.
Status CheckRequestId(std::string_view request_id);

/// What may be logged of a metadata value: the value when it is an identifier as above, else "".
std::string LoggableId(std::string_view value);

/// One log line of a finished call.
void LogCall(const CallRecord& record, const Status& status);

}  // namespace interlacer
