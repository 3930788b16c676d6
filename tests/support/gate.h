#pragma once

/// Blocks other threads until a test releases them.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>

namespace interlacer::testing {

/// Passes every unit of work, or a counted number of them.
class Gate {
 public:
  void Close() {
    std::lock_guard lock(mutex_);
    allowed_ = 0;
  }
  /// Lets `count` more units through a closed gate.
  void Allow(std::int64_t count) {
    std::lock_guard lock(mutex_);
    allowed_ += count;
    changed_.notify_all();
  }
  void Open() {
    std::lock_guard lock(mutex_);
    allowed_ = kUnlimited;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return allowed_ > 0; });
    --waiting_;
    --allowed_;
  }
  /// Waits until a unit is blocked at the closed gate; false when none arrives.
  bool WaitForUnit() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [this] { return waiting_ > 0; });
  }

 private:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 2;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t allowed_ = kUnlimited;
  int waiting_ = 0;
};

}  // namespace interlacer::testing
