#pragma once

/// Limits the host memory of requests in flight, decoded frames included: memory is reserved before
/// it is used and released when the reservation is destroyed. Thread-safe. Errors:
/// RESOURCE_EXHAUSTED HOST_MEMORY.

#include <atomic>
#include <cstdint>
#include <utility>

#include "common/status.h"

namespace interlacer {

class MemoryBudget {
 public:
  class Reservation {
   public:
    Reservation() = default;
    Reservation(MemoryBudget* budget, std::int64_t bytes) : budget_(budget), bytes_(bytes) {}
    Reservation(Reservation&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Reservation() {
      if (budget_ != nullptr) budget_->used_bytes_ -= bytes_;
    }

   private:
    MemoryBudget* budget_ = nullptr;
    std::int64_t bytes_ = 0;
  };

  explicit MemoryBudget(std::int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  StatusOr<Reservation> Reserve(std::int64_t bytes) {
    const std::int64_t used_bytes = used_bytes_ += bytes;
    Reservation reservation(this, bytes);
    if (used_bytes <= limit_bytes_) return reservation;
    return ResourceExhausted(reason::HOST_MEMORY, "requests in flight would take " +
                                                      std::to_string(used_bytes) + " bytes of " +
                                                      std::to_string(limit_bytes_))
        .WithMetadata("got", std::to_string(bytes))
        .WithMetadata("limit", std::to_string(limit_bytes_));
  }

  std::int64_t used_bytes() const { return used_bytes_; }

 private:
  const std::int64_t limit_bytes_;
  std::atomic<std::int64_t> used_bytes_{0};
};

}  // namespace interlacer
