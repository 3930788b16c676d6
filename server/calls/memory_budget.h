#pragma once

/// Limits the host memory of requests in flight, decoded frames included: memory is reserved before
/// it is used and released when the reservation is destroyed. Thread-safe. Errors:
/// RESOURCE_EXHAUSTED HOST_MEMORY.
///
/// A quarter is kept for urgent calls, so that large requests of others never cost them their
/// answer.

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

  StatusOr<Reservation> Reserve(std::int64_t bytes, bool is_urgent) {
    const std::int64_t limit_bytes = Share(is_urgent);
    // What is refused must not count for a moment either, in which an urgent call may come.
    std::int64_t used_bytes = used_bytes_;
    do {
      if (used_bytes + bytes > limit_bytes) {
        return ResourceExhausted(reason::HOST_MEMORY, "requests in flight would take " +
                                                          std::to_string(used_bytes + bytes) +
                                                          " bytes of " +
                                                          std::to_string(limit_bytes))
            .WithMetadata("got", std::to_string(bytes))
            .WithMetadata("limit", std::to_string(limit_bytes));
      }
    } while (!used_bytes_.compare_exchange_weak(used_bytes, used_bytes + bytes));
    return Reservation(this, bytes);
  }

  /// What calls of this kind may take, together with all others.
  std::int64_t Share(bool is_urgent) const {
    return is_urgent ? limit_bytes_ : limit_bytes_ - limit_bytes_ / 4;
  }
  std::int64_t used_bytes() const { return used_bytes_; }

 private:
  const std::int64_t limit_bytes_;
  std::atomic<std::int64_t> used_bytes_{0};
};

}  // namespace interlacer
