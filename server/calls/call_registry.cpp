#include "server/calls/call_registry.h"

#include <chrono>

namespace interlacer {

CallRegistry::Entry::Entry(CallRegistry* registry, ResponseSink* sink)
    : registry_(registry), sink_(sink) {
  std::lock_guard lock(registry_->mutex_);
  registry_->sinks_.insert(sink_);
}

CallRegistry::Entry::~Entry() {
  std::lock_guard lock(registry_->mutex_);
  registry_->sinks_.erase(sink_);
}

int CallRegistry::count() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(sinks_.size());
}

void CallRegistry::AbortStalled(double timeout_s) {
  const auto limit = std::chrono::steady_clock::now() - std::chrono::duration<double>(timeout_s);
  std::lock_guard lock(mutex_);
  for (ResponseSink* sink : std::set<ResponseSink*>(sinks_)) {
    if (sinks_.count(sink) == 0) continue;
    const auto stalled_since = sink->stalled_since();
    if (stalled_since && *stalled_since <= limit) sink->Abort();
  }
}

}  // namespace interlacer
