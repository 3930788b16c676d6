#pragma once

/// Registry of the calls that gRPC still holds: their number, and a way to reset those whose client
/// does not read. Thread-safe; a sink may be removed while others are reset.

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
  /// Resets every call with a message that has been waiting for `timeout_s`.
  void AbortStalled(double timeout_s);

 private:
  /// Recursive: resetting a call may finish it and remove its entry on this thread.
  mutable std::recursive_mutex mutex_;
  std::set<ResponseSink*> sinks_;
};

}  // namespace interlacer
