#pragma once

/// Threads that decode the images of calls while these wait for the device. Higher priorities run
/// first, then in the order of Post; tasks still queued at destruction run before it returns. The
/// queue is no longer than the number of calls that wait: each removes its task when it ends.
/// Thread-safe.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace interlacer {

class DecodePool {
 public:
  explicit DecodePool(int thread_count);
  ~DecodePool();
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;

  /// `owner` is a name for Remove only.
  void Post(int priority, const void* owner, std::function<void()> task);
  /// Drops the owner's tasks that have not begun.
  void Remove(const void* owner);

  /// What decoding took, in a running mean, and what it will take. Bytes of decoded frames.
  void NoteCost(std::int64_t bytes, double seconds);
  double CostS(std::int64_t bytes) const { return seconds_per_byte_ * static_cast<double>(bytes); }

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  struct Task {
    const void* owner;
    std::function<void()> run;
  };
  /// Sorted by priority; equal priorities in order of arrival.
  std::multimap<int, Task, std::greater<>> tasks_;
  bool is_stopping_ = false;
  std::atomic<double> seconds_per_byte_{0};
  std::vector<std::thread> threads_;
};

}  // namespace interlacer
