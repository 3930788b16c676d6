#include "server/calls/decode_pool.h"

#include <algorithm>
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

void DecodePool::Post(int priority, const void* owner, std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.emplace(priority, Task{owner, std::move(task)});
  }
  changed_.notify_one();
}

void DecodePool::Remove(const void* owner) {
  // Destroyed after the lock is released: a task may hold the last reference to its owner.
  std::vector<Task> removed;
  std::lock_guard lock(mutex_);
  for (auto task = tasks_.begin(); task != tasks_.end();) {
    const auto here = task++;
    if (here->second.owner != owner) continue;
    removed.push_back(std::move(here->second));
    tasks_.erase(here);
  }
}

void DecodePool::NoteCost(std::int64_t bytes, double seconds) {
  constexpr double kWeight = 0.1;
  const double present = seconds_per_byte_;
  const double sample = seconds / static_cast<double>(std::max<std::int64_t>(bytes, 1));
  // Two samples at once may lose one of them, which does no harm to a mean.
  seconds_per_byte_ = present == 0 ? sample : present + kWeight * (sample - present);
}

void DecodePool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    {
      const auto next = tasks_.extract(tasks_.begin());
      lock.unlock();
      next.mapped().run();
    }
    lock.lock();
  }
}

}  // namespace interlacer
