#pragma once

/// The calls that the library is not done with: how many, and a way to reset those whose client
/// does not read. Thread-safe; a sink may leave while others are reset.

#include <mutex>
#include <set>

#include "server/calls/response_sink.h"

namespace interlacer {

class CallRegistry {
 public:
  /// Present from construction to destruction.
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
  /// Resets every call with a message that has been waiting for this long.
  void AbortStalled(double timeout_s);

 private:
  /// Recursive: resetting a call may finish it, and so remove its entry, on this thread.
  mutable std::recursive_mutex mutex_;
  std::set<ResponseSink*> sinks_;
};

}  // namespace interlacer
