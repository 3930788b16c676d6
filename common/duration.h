#pragma once

/// Durations on a steady clock in seconds, and conversions to the nanoseconds of wire messages and
/// episodes. Pure functions, thread-safe.

#include <chrono>
#include <cmath>
#include <cstdint>

namespace interlacer {

inline constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

/// Rounds to the nearest integer, halves away from 0.
inline std::int64_t ToNanoseconds(double seconds) {
  return std::llround(seconds * static_cast<double>(kNanosecondsPerSecond));
}

inline double SecondsBetween(std::chrono::steady_clock::time_point from,
                             std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

inline double SecondsSince(std::chrono::steady_clock::time_point start) {
  return SecondsBetween(start, std::chrono::steady_clock::now());
}

/// Adds its lifetime to a stage's total.
class StageTimer {
 public:
  explicit StageTimer(double* stage_s) : stage_s_(stage_s) {}
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;
  ~StageTimer() { *stage_s_ += seconds(); }
  double seconds() const { return SecondsSince(start_); }

 private:
  double* const stage_s_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace interlacer
