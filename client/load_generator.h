#pragma once

/// Sends calls to a server from several threads and says how long they took.
///
/// Closed loop (`rate_hz` 0): each client sends its next call when the last is answered, and comes
/// again after the server's retry delay when it was refused (common/retry_delay.h). Open loop:
/// calls are due at exponentially distributed times of this mean rate, whether earlier ones are
/// answered or not; a call that waits for a free client counts from when it was due, so that a slow
/// server cannot hide by slowing its clients. Priorities take turns over the calls.
/// Threads: `call` is made by `client_count` threads at once, `on_end` by one at a time.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "client/interlacer_client.h"

namespace interlacer {

struct LoadOptions {
  int client_count = 1;
  double rate_hz = 0;
  double duration_s = 10;  ///< calls begin within it
  std::vector<RequestPriority> priorities{RequestPriority::kNormal};
  std::uint64_t seed = 0;  ///< of the times of an open loop
};

/// Of one call; seconds since it was due.
struct CallTimes {
  RequestPriority priority = RequestPriority::kNormal;
  double first_s = 0;  ///< until the first message of the answer; 0 without one
  double whole_s = 0;
  std::string error;  ///< the reason, or the name of the code; empty for an answer
};

struct LoadReport {
  std::vector<CallTimes> calls;  ///< in the order of their ends
  double duration_s = 0;         ///< until the last answer
};

/// Makes a call of a priority; runs `on_message` for each message that comes.
using LoadCall =
    std::function<Status(RequestPriority priority, const std::function<void()>& on_message)>;

/// A stop request ends the sending; calls in flight end as `call` ends them, and those that are
/// cancelled then are no part of the report.
LoadReport RunLoad(const LoadOptions& options, const LoadCall& call,
                   const std::function<void(const LoadReport& so_far)>& on_end,
                   const std::stop_token& stop);

/// "control", "normal", "background".
std::string_view PriorityName(RequestPriority priority);

}  // namespace interlacer
