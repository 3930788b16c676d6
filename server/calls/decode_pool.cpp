#include "server/calls/decode_pool.h"

#include <utility>

namespace interlacer {

DecodePool::DecodePool(int thread_count) {
  for (int i = 0; i < thread_count; ++i) threads_.emplace_back([this] { Run(); });
}

DecodePool::~DecodePool() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void DecodePool::Post(int priority, std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.emplace(priority, std::move(task));
  }
  changed_.notify_one();
}

void DecodePool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    {
      const auto next = tasks_.extract(tasks_.begin());
      lock.unlock();
      next.mapped()();
    }
    lock.lock();
  }
}

}  // namespace interlacer
