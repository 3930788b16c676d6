#pragma once

/// Registry of the calls that gRPC still holds: their number, the memory of their answers, and a
/// way to reset those whose client does not read. Thread-safe; a sink may be removed while others
/// are reset.

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "server/calls/response_sink.h"

namespace interlacer {

class CallRegistry {
 public:
  /// Registers a call from construction to destruction.
  class Entry {
   public:
    Entry(CallRegistry* registry, ResponseSink* sink);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    CallRegistry* const registry_;
    ResponseSink* const sink_;
  };

  /// `on_removed` runs after each call that gRPC has let go, on any thread; it may not touch the
  /// registry.
  explicit CallRegistry(std::function<void()> on_removed = {})
      : on_removed_(std::move(on_removed)) {}

  int count() const;
  /// Bytes of all answers that wait for their readers, those of the last quarter of a second left
  /// out.
  std::int64_t waiting_bytes() const;
  /// Resets every call with a message that has been waiting for `timeout_s`.
  void AbortStalled(double timeout_s);
  /// Resets calls, the one that has waited longest first, until waiting_bytes() fit. Calls
  /// that have waited for less than a second are left alone.
  void LimitWaiting(std::int64_t max_bytes);

 private:
  using WaitingSink = std::pair<std::chrono::steady_clock::time_point, ResponseSink*>;

  /// Sinks that have waited for `least_wait` or longer, the longest first. Requires the lock.
  std::vector<WaitingSink> Waiting(std::chrono::duration<double> least_wait) const;

  const std::function<void()> on_removed_;
  /// Recursive: resetting a call may finish it and remove its entry on this thread.
  mutable std::recursive_mutex mutex_;
  std::set<ResponseSink*> sinks_;
};

}  // namespace interlacer
