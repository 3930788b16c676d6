#pragma once

/// Asks a server of this machine for its health "live" as a stranger would.

#include <chrono>
#include <stop_token>
#include <string>

namespace interlacer {

/// Connects anew to `address` (of any form that clients take) and asks; whether it says SERVING by
/// `limit` and before `stop`. Thread-safe.
bool AnswersAsLive(const std::string& address, const std::stop_token& stop,
                   std::chrono::system_clock::time_point limit);
/// Asks over a connected socket, which it owns.
bool AnswersAsLive(int fd, const std::stop_token& stop,
                   std::chrono::system_clock::time_point limit);

}  // namespace interlacer
