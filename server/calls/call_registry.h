#pragma once

/// Registry of the calls that gRPC still holds: their number, the memory of their answers, and a
/// way to reset those whose client does not read. Thread-safe; a sink may be removed while others
/// are reset.

#include <cstdint>
#include <mutex>
#include <set>

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

  int count() const;
  /// Bytes of all answers that wait for their readers.
  std::int64_t unsent_bytes() const;
  /// Resets every call with a message that has been waiting for `timeout_s`.
  void AbortStalled(double timeout_s);
  /// Resets calls, the one that has waited longest first, until the answers of the others fit.
  /// Calls that have waited for less than a second are left alone.
  void LimitUnsent(std::int64_t max_bytes);

 private:
  /// Recursive: resetting a call may finish it and remove its entry on this thread.
  mutable std::recursive_mutex mutex_;
  std::set<ResponseSink*> sinks_;
};

}  // namespace interlacer
