#pragma once

/// Limits the host memory of requests in flight, decoded frames included: memory is reserved before
/// it is used and released when the reservation is destroyed. Thread-safe. Errors:
/// RESOURCE_EXHAUSTED HOST_MEMORY beside others; OUT_OF_RANGE HOST_MEMORY for what would not fit
/// alone.
///
/// Of what calls take within a unit of work only the largest counts: one unit runs at a time. A
/// quarter is kept for urgent calls, so that large requests of others never cost them their answer.

#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include "common/status.h"

namespace interlacer {

class MemoryBudget {
 public:
  class Reservation {
   public:
    Reservation() = default;
    Reservation(MemoryBudget* budget, std::int64_t bytes, std::int64_t unit_bytes)
        : budget_(budget), bytes_(bytes), unit_bytes_(unit_bytes) {}
    Reservation(Reservation&& other) noexcept { *this = std::move(other); }
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      std::swap(unit_bytes_, other.unit_bytes_);
      return *this;
    }
    ~Reservation() {
      if (budget_ != nullptr) budget_->Release(bytes_, unit_bytes_);
    }

   private:
    MemoryBudget* budget_ = nullptr;
    std::int64_t bytes_ = 0, unit_bytes_ = 0;
  };

  explicit MemoryBudget(std::int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// `bytes` as long as the call lives, and `unit_bytes` more within a unit of its work.
  StatusOr<Reservation> Reserve(std::int64_t bytes, bool is_urgent, std::int64_t unit_bytes = 0);

  /// What calls of this kind may take, together with all others.
  std::int64_t Share(bool is_urgent) const {
    return is_urgent ? limit_bytes_ : limit_bytes_ - limit_bytes_ / 4;
  }
  std::int64_t used_bytes() const;

 private:
  void Release(std::int64_t bytes, std::int64_t unit_bytes);
  /// With one more call of these `unit_bytes`. Requires the lock.
  std::int64_t UsedBytes(std::int64_t unit_bytes) const;

  const std::int64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::int64_t bytes_ = 0;
  std::multiset<std::int64_t> unit_bytes_;
};

}  // namespace interlacer
