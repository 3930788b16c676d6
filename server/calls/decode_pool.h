#pragma once

/// Threads that decode the images of calls while these wait for the device. Higher priorities run
/// first, then in the order of Post; tasks still queued at destruction run before it returns.
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

  void Post(int priority, std::function<void()> task);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  /// Sorted by priority; equal priorities in order of arrival.
  std::multimap<int, std::function<void()>, std::greater<>> tasks_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace interlacer
