#include "server/calls/memory_budget.h"

#include <algorithm>
#include <string>

namespace interlacer {

StatusOr<MemoryBudget::Reservation> MemoryBudget::Reserve(std::int64_t bytes, bool is_urgent,
                                                          std::int64_t unit_bytes) {
  const std::int64_t limit_bytes = Share(is_urgent);
  const std::string limit = std::to_string(limit_bytes);
  const std::string got = std::to_string(bytes + unit_bytes);
  if (bytes + unit_bytes > limit_bytes) {
    return OutOfRange(reason::HOST_MEMORY,
                      "the call would take " + got + " bytes of memory by itself, of " + limit +
                          ": smaller frames would help, or a larger --max-inflight-request-bytes, "
                          "of which CONTROL calls may take all and others three quarters")
        .WithMetadata("got", got)
        .WithMetadata("limit", limit);
  }
  const std::lock_guard lock(mutex_);
  const std::int64_t all_bytes = bytes + UsedBytes(unit_bytes);
  if (all_bytes > limit_bytes) {
    return ResourceExhausted(
               reason::HOST_MEMORY,
               "requests in flight would take " + std::to_string(all_bytes) + " bytes of " + limit)
        .WithMetadata("got", got)
        .WithMetadata("limit", limit);
  }
  bytes_ += bytes;
  unit_bytes_.insert(unit_bytes);
  return Reservation(this, bytes, unit_bytes);
}

std::int64_t MemoryBudget::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return UsedBytes(0);
}

void MemoryBudget::Release(std::int64_t bytes, std::int64_t unit_bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ -= bytes;
  unit_bytes_.erase(unit_bytes_.find(unit_bytes));
}

std::int64_t MemoryBudget::UsedBytes(std::int64_t unit_bytes) const {
  const std::int64_t largest = unit_bytes_.empty() ? 0 : *unit_bytes_.rbegin();
  return bytes_ + std::max(largest, unit_bytes);
}

}  // namespace interlacer
