#pragma once

/// What started this process and may want to know how it is, such as systemd (sd_notify(3)).

#include <sys/un.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "common/status.h"

namespace interlacer {

/// Immutable, thread-safe.
class Supervisor {
 public:
  /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. Errors: INVALID_ARGUMENT CONFIG_INVALID
  /// naming the variable.
  static StatusOr<Supervisor> FromEnvironment(const std::map<std::string, std::string>& variables);

  /// Sends "READY=1" or the like; nothing where nobody listens. Never waits.
  void Tell(const std::string& state) const;
  /// Without a WATCHDOG=1 for this time the process is taken for hung; none: nobody looks.
  std::optional<std::chrono::microseconds> watchdog_limit() const { return watchdog_limit_; }

 private:
  /// None: nobody listens.
  std::optional<sockaddr_un> address_;
  socklen_t address_bytes_ = 0;
  std::optional<std::chrono::microseconds> watchdog_limit_;
};

/// Says WATCHDOG=1 after every probe that succeeds, four times within the limit, on a thread of its
/// own; does nothing where nobody looks. Owner's thread.
class WatchdogPings {
 public:
  /// Whether the server does its work, said within `limit` and once `stop` is requested.
  using Probe = std::function<bool(const std::stop_token& stop, std::chrono::microseconds limit)>;
  /// `supervisor` outlives the object.
  WatchdogPings(const Supervisor& supervisor, Probe probe);

 private:
  std::jthread thread_;
};

}  // namespace interlacer
