#include "server/calls/call_registry.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace interlacer {
namespace {

constexpr std::chrono::seconds kLeastWait(1);

}  // namespace

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

std::int64_t CallRegistry::unsent_bytes() const {
  std::lock_guard lock(mutex_);
  std::int64_t bytes = 0;
  for (const ResponseSink* sink : sinks_) bytes += sink->unsent_bytes();
  return bytes;
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

void CallRegistry::LimitUnsent(std::int64_t max_bytes) {
  std::lock_guard lock(mutex_);
  std::int64_t excess_bytes = unsent_bytes() - max_bytes;
  if (excess_bytes <= 0) return;
  const auto limit = std::chrono::steady_clock::now() - kLeastWait;
  std::vector<std::pair<std::chrono::steady_clock::time_point, ResponseSink*>> waiting;
  for (ResponseSink* sink : sinks_) {
    const auto stalled_since = sink->stalled_since();
    if (stalled_since && *stalled_since <= limit) waiting.emplace_back(*stalled_since, sink);
  }
  std::sort(waiting.begin(), waiting.end());
  for (const auto& [since, sink] : waiting) {
    if (excess_bytes <= 0) return;
    if (sinks_.count(sink) == 0) continue;
    excess_bytes -= sink->unsent_bytes();
    sink->Abort();
  }
}

}  // namespace interlacer
