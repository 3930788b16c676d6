#pragma once

/// Threads that decode the images of calls while these wait for the device. Higher priorities run
/// first, then in the order of Post; tasks still queued at destruction run before it returns. The
/// queue is no longer than the number of calls that wait: each removes its task when it ends.
/// Thread-safe.

#include <condition_variable>
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
  std::vector<std::thread> threads_;
};

}  // namespace interlacer
