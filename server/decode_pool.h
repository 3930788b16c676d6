#pragma once

/// A few threads that decode the images of calls while these wait for the device.
/// Tasks run in the order of Post; what is still queued at destruction runs first. Thread-safe.

#include <condition_variable>
#include <deque>
#include <functional>
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

  void Post(std::function<void()> task);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace interlacer
