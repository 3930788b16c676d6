#include "server/calls/call_registry.h"

#include <algorithm>

namespace interlacer {
namespace {

/// gRPC releases a call some time after its client has read everything, on a thread of its own: an
/// answer that left a moment ago is not known to wait.
constexpr std::chrono::milliseconds kReleaseLag(250);
/// A call is reset for the memory of others only if it has waited for longer.
constexpr std::chrono::seconds kLeastWait(1);

}  // namespace

CallRegistry::Entry::Entry(CallRegistry* registry, ResponseSink* sink)
    : registry_(registry), sink_(sink) {
  std::lock_guard lock(registry_->mutex_);
  registry_->sinks_.insert(sink_);
}

CallRegistry::Entry::~Entry() {
  {
    std::lock_guard lock(registry_->mutex_);
    registry_->sinks_.erase(sink_);
  }
  if (registry_->on_removed_) registry_->on_removed_();
}

int CallRegistry::count() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(sinks_.size());
}

std::int64_t CallRegistry::waiting_bytes() const {
  std::lock_guard lock(mutex_);
  std::int64_t bytes = 0;
  for (const auto& [since, sink] : Waiting(kReleaseLag)) bytes += sink->unsent_bytes();
  return bytes;
}

void CallRegistry::AbortStalled(double timeout_s) {
  std::lock_guard lock(mutex_);
  for (const auto& [since, sink] : Waiting(std::chrono::duration<double>(timeout_s))) {
    if (sinks_.count(sink) != 0) sink->Abort();
  }
}

void CallRegistry::LimitWaiting(std::int64_t max_bytes) {
  std::lock_guard lock(mutex_);
  std::int64_t excess_bytes = waiting_bytes() - max_bytes;
  for (const auto& [since, sink] : Waiting(kLeastWait)) {
    if (excess_bytes <= 0) return;
    if (sinks_.count(sink) == 0) continue;
    excess_bytes -= sink->unsent_bytes();
    sink->Abort();
  }
}

std::vector<CallRegistry::WaitingSink> CallRegistry::Waiting(
    std::chrono::duration<double> least_wait) const {
  const auto limit = std::chrono::steady_clock::now() - least_wait;
  std::vector<WaitingSink> waiting;
  for (ResponseSink* sink : sinks_) {
    const auto stalled_since = sink->stalled_since();
    if (stalled_since && *stalled_since <= limit) waiting.emplace_back(*stalled_since, sink);
  }
  std::sort(waiting.begin(), waiting.end());
  return waiting;
}

}  // namespace interlacer
