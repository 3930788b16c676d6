#include "common/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/check.h"

namespace interlacer {
namespace {

using Body = std::function<void(std::int64_t, std::int64_t)>;

thread_local bool inside_parallel_for = false;

/// One range at a time: chunks are numbered, threads take the next number until none is left.
struct Job {
  std::int64_t count = 0;
  std::int64_t grain = 1;
  std::int64_t chunk_count = 0;
  const Body* body = nullptr;
  std::atomic<std::int64_t> next_chunk{0};
  std::atomic<bool> has_failed{false};
  std::exception_ptr failure;  // of the first body that threw; read once all have ended

  void Work() noexcept {
    const bool was_inside = std::exchange(inside_parallel_for, true);
    for (;;) {
      const std::int64_t chunk = next_chunk.fetch_add(1);
      if (chunk >= chunk_count) break;
      const std::int64_t begin = chunk * grain;
      try {
        (*body)(begin, std::min(begin + grain, count));
      } catch (...) {
        if (!has_failed.exchange(true)) failure = std::current_exception();
        next_chunk = chunk_count;
      }
    }
    inside_parallel_for = was_inside;
  }
};

class Pool {
 public:
  ~Pool() { StopWorkers(); }

  void Resize(int count) {
    const std::lock_guard<std::mutex> callers(caller_mutex_);
    StopWorkers();
    thread_count_ = Resolve(count);
  }

  int thread_count() const { return thread_count_; }

  /// False if another thread holds the pool; the caller then runs its range alone.
  bool TryRun(Job& job) {
    const std::unique_lock<std::mutex> callers(caller_mutex_, std::try_to_lock);
    if (!callers.owns_lock()) return false;
    StartWorkers();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job_ = &job;
      ++generation_;
      busy_workers_ = static_cast<int>(workers_.size());
    }
    wake_.notify_all();
    job.Work();
    std::unique_lock<std::mutex> lock(mutex_);
    // Workers may still run their last chunks, and the job lives on this stack frame.
    done_.wait(lock, [this] { return busy_workers_ == 0; });
    job_ = nullptr;
    return true;
  }

 private:
  static int Resolve(int count) {
    if (count > 0) return count;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }

  void StartWorkers() {
    if (!workers_.empty()) return;
    stop_ = false;
    for (int i = 1; i < thread_count_; ++i) {
      workers_.emplace_back([this, seen = generation_] { WorkerLoop(seen); });
    }
  }

  void StopWorkers() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  void WorkerLoop(std::uint64_t seen) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      Job* job = job_;
      lock.unlock();
      job->Work();
      lock.lock();
      if (--busy_workers_ == 0) done_.notify_one();
    }
  }

  std::mutex caller_mutex_;  // held by the caller whose job runs
  std::mutex mutex_;         // guards everything below but thread_count_
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  Job* job_ = nullptr;
  std::uint64_t generation_ = 0;
  int busy_workers_ = 0;
  bool stop_ = false;
  std::atomic<int> thread_count_{Resolve(0)};
};

Pool& GlobalPool() {
  static Pool pool;
  return pool;
}

}  // namespace

void SetThreadCount(int count) {
  INTERLACER_CHECK(count >= 0, "a thread count is not negative");
  INTERLACER_CHECK(!inside_parallel_for, "SetThreadCount inside ParallelFor");
  GlobalPool().Resize(count);
}

int ThreadCount() { return GlobalPool().thread_count(); }

void ParallelFor(std::int64_t count, std::int64_t grain, const Body& body) {
  INTERLACER_CHECK(grain >= 1, "the grain is at least 1");
  if (count <= 0) return;
  Job job;
  job.count = count;
  job.grain = grain;
  job.chunk_count = (count - 1) / grain + 1;
  job.body = &body;
  // A nested call must not wait for the pool that runs it.
  const bool alone = job.chunk_count == 1 || inside_parallel_for || ThreadCount() == 1;
  if (alone || !GlobalPool().TryRun(job)) job.Work();
  if (job.failure != nullptr) std::rethrow_exception(job.failure);
}

}  // namespace interlacer
