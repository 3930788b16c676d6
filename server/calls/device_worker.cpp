#include "server/calls/device_worker.h"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <utility>

#include "common/check.h"
#include "common/retry_delay.h"

namespace interlacer {
namespace {

constexpr double kMinRetryDelayS = 0.1;
constexpr double kMaxRetryDelayS = 30;

}  // namespace

DeviceWorker::DeviceWorker(int max_queue, int max_active, std::function<void()> when_idle,
                           Clock::duration idle_delay)
    : max_queue_(max_queue),
      max_active_(max_active),
      when_idle_(std::move(when_idle)),
      idle_delay_(idle_delay),
      thread_([this] { Run(); }) {}

DeviceWorker::~DeviceWorker() { Stop(); }

Status DeviceWorker::CheckRoom(int priority) const {
  const double cost_ahead_s = CostAheadS(priority);
  std::lock_guard lock(mutex_);
  return CheckRoomFor(priority, cost_ahead_s);
}

Status DeviceWorker::Submit(std::shared_ptr<DeviceJob> job, bool is_ready) {
  // Before the lock, which CostAheadS takes itself.
  const double cost_ahead_s = CostAheadS(job->priority());
  {
    std::lock_guard lock(mutex_);
    INTERLACER_RETURN_IF_ERROR(CheckRoomFor(job->priority(), cost_ahead_s));
    entries_.push_back(std::make_unique<Entry>());
    entries_.back()->job = std::move(job);
    entries_.back()->is_ready = is_ready;
  }
  changed_.notify_one();
  return Status::Ok();
}

Status DeviceWorker::CheckRoomFor(int priority, double cost_ahead_s) const {
  if (is_stopping_) return Unavailable(reason::DRAINING, "the server is stopping");
  const int place_count = PlaceCount(priority);
  if (place_count >= max_queue_ + max_active_) {
    const double delay_s = std::clamp(cost_ahead_s, kMinRetryDelayS, kMaxRetryDelayS);
    return ResourceExhausted(reason::QUEUE_FULL, std::to_string(place_count) +
                                                     " calls of this priority run or wait already")
        .WithMetadata("limit", std::to_string(max_queue_))
        .WithMetadata(kRetryDelayKey, std::to_string(delay_s));
  }
  return Status::Ok();
}

void DeviceWorker::Wake(const DeviceJob* job) {
  {
    std::lock_guard lock(mutex_);
    Entry* entry = Find(job);
    if (entry == nullptr || entry->is_ready) return;
    entry->is_ready = true;
    entry->parked_since.reset();
    // The worker checks the entry after the unit that it runs.
    if (entry->is_running) return;
  }
  changed_.notify_one();
}

void DeviceWorker::Cancel(const DeviceJob* job, Status status) {
  Ending ending;
  {
    std::lock_guard lock(mutex_);
    Entry* entry = Find(job);
    if (entry == nullptr) return;
    if (entry->is_running) {
      // RunOne ends a running job with this status, so that End does not overlap with its unit.
      entry->stop_status = std::move(status);
      return;
    }
    ending = Remove(job, std::move(status));
    if (ending.has_device_state) retired_.push_back(ending.job);
    changed_.notify_one();
  }
  // Outside of the lock, because End runs code of the job that may call the worker.
  ending.job->End(std::move(ending.status));
}

void DeviceWorker::CancelAll(Status status) {
  std::vector<std::shared_ptr<DeviceJob>> jobs;
  {
    // A copy of the list, because Cancel removes entries.
    std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) jobs.push_back(entry->job);
  }
  for (const auto& job : jobs) Cancel(job.get(), status);
}

void DeviceWorker::Free(std::shared_ptr<const void> state) {
  if (std::this_thread::get_id() == thread_.get_id()) return;
  std::lock_guard lock(mutex_);
  unused_.push_back(std::move(state));
  changed_.notify_one();
}

void DeviceWorker::NoteFreed() {
  std::lock_guard lock(mutex_);
  // Who asks the server how it is once a second must not put it off for ever.
  if (!when_idle_ || idle_limit_) return;
  idle_limit_ = Clock::now() + idle_delay_;
  changed_.notify_one();
}

bool DeviceWorker::AwaitTurn(const std::stop_token& stop, Clock::time_point limit) {
  struct Turn {
    std::mutex mutex;
    std::condition_variable_any changed;
    bool has_come = false;
  };
  const auto turn = std::make_shared<Turn>();
  // What the worker frees is freed at its turn.
  Free(std::shared_ptr<const void>(nullptr, [turn](const void*) {
    const std::lock_guard lock(turn->mutex);
    turn->has_come = true;
    turn->changed.notify_all();
  }));
  std::unique_lock lock(turn->mutex);
  return turn->changed.wait_until(lock, stop, limit, [&] { return turn->has_come; });
}

double DeviceWorker::CostAheadS(int priority) const {
  const Clock::time_point now = Clock::now();
  std::lock_guard lock(mutex_);
  double cost_s = 0;
  for (const auto& entry : entries_) {
    const bool is_over = !entry->stop_status.ok() || !entry->job->CheckAlive(now).ok();
    if (!is_over && !entry->parked_since && entry->job->priority() >= priority)
      cost_s += entry->job->RemainingCostS();
  }
  return cost_s;
}

int DeviceWorker::queue_length() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(entries_.size()) - ActiveCount();
}

int DeviceWorker::active_count() const {
  std::lock_guard lock(mutex_);
  return ActiveCount();
}

std::optional<Clock::time_point> DeviceWorker::unit_start() const {
  std::lock_guard lock(mutex_);
  return unit_start_;
}

void DeviceWorker::Stop() {
  {
    std::lock_guard lock(mutex_);
    if (is_stopping_ && !thread_.joinable()) return;
    is_stopping_ = true;
    changed_.notify_one();
  }
  CancelAll(Unavailable(reason::DRAINING, "the server is stopping"));
  if (thread_.joinable()) thread_.join();
}

void DeviceWorker::Run() {
  pthread_setname_np(pthread_self(), kThreadName);
  std::unique_lock lock(mutex_);
  while (true) {
    // Jobs that are over end before another one gets its turn.
    std::vector<Ending> endings;
    CollectOver(Clock::now(), &endings);
    std::vector<std::shared_ptr<DeviceJob>> retired = std::exchange(retired_, {});
    std::vector<std::shared_ptr<const void>> unused = std::exchange(unused_, {});
    if (!endings.empty() || !retired.empty() || !unused.empty()) {
      lock.unlock();
      unused.clear();
      for (const auto& job : retired) job->FreeDeviceState();
      retired.clear();
      for (Ending& ending : endings) {
        if (ending.has_device_state) ending.job->FreeDeviceState();
        ending.job->End(std::move(ending.status));
      }
      endings.clear();
      lock.lock();
      // The list may have changed while the lock was released.
      continue;
    }
    if (Entry* entry = PickNext()) {
      RunOne(entry, &lock);
    } else if (is_stopping_ && entries_.empty()) {
      return;
    } else if (entries_.empty() && idle_limit_ && Clock::now() >= *idle_limit_) {
      idle_limit_.reset();
      lock.unlock();
      when_idle_();
      lock.lock();
    } else {
      changed_.wait_until(lock, NextCheck());
    }
  }
}

void DeviceWorker::CollectOver(Clock::time_point now, std::vector<Ending>* endings) {
  for (const auto& entry : entries_) {
    Status status = entry->job->CheckAlive(now);
    if (!status.ok()) endings->push_back({entry->job, entry->is_active, std::move(status)});
  }
  if (endings->empty()) CollectParked(endings);
  for (Ending& ending : *endings) ending = Remove(ending.job.get(), std::move(ending.status));
}

void DeviceWorker::CollectParked(std::vector<Ending>* endings) const {
  const Entry* longest = nullptr;
  int parked_count = 0;
  for (const auto& entry : entries_) {
    if (!entry->parked_since) continue;
    ++parked_count;
    if (longest == nullptr || *entry->parked_since < *longest->parked_since) longest = entry.get();
  }
  if (parked_count <= max_queue_ + max_active_) return;
  endings->push_back({longest->job, true,
                      Status(StatusCode::kCancelled, reason::SLOW_READER,
                             "the client does not read, and too many others do not either")});
}

DeviceWorker::Entry* DeviceWorker::PickNext() {
  Entry* best = nullptr;
  for (const auto& entry : entries_) {
    if (!entry->is_ready) continue;
    const int priority = entry->job->priority();
    // Active jobs keep their turn; a new one starts only while few take turns.
    if (!entry->is_active && TurnCount(priority) >= max_active_) continue;
    // Of equal ones the job whose last unit lies furthest back; the earlier of two new ones.
    if (best == nullptr || priority > best->job->priority() ||
        (priority == best->job->priority() && entry->last_turn < best->last_turn)) {
      best = entry.get();
    }
  }
  return best;
}

void DeviceWorker::RunOne(Entry* entry, std::unique_lock<std::mutex>* lock) {
  entry->is_active = true;
  entry->is_running = true;
  // A Wake during the unit sets it again.
  entry->is_ready = false;
  entry->last_turn = ++turn_count_;
  unit_start_ = Clock::now();
  const std::shared_ptr<DeviceJob> job = entry->job;
  lock->unlock();
  StatusOr<DeviceJob::Progress> progress = job->RunUnit();
  lock->lock();
  unit_start_.reset();
  entry->is_running = false;
  // A completed job ends with OK even if it was cancelled during its last unit.
  const bool is_done = progress.ok() && *progress == DeviceJob::Progress::kDone;
  if (progress.ok() && !is_done && entry->stop_status.ok()) {
    if (*progress == DeviceJob::Progress::kReady) entry->is_ready = true;
    // Its reader may have woken it meanwhile.
    if (!entry->is_ready) entry->parked_since = Clock::now();
    return;
  }
  Status status = progress.status();
  // A lost device is heard of also when the client has gone meanwhile.
  const bool is_fault = status.code() == StatusCode::kInternal;
  if (!is_done && !is_fault && !entry->stop_status.ok()) status = entry->stop_status;
  Ending ending = Remove(job.get(), std::move(status));
  lock->unlock();
  job->FreeDeviceState();
  job->End(std::move(ending.status));
  lock->lock();
}

Clock::time_point DeviceWorker::NextCheck() const {
  // Bounds the wait; changed_ wakes the worker for anything else.
  Clock::time_point next = Clock::now() + std::chrono::hours(1);
  for (const auto& entry : entries_) next = std::min(next, entry->job->NextCheck());
  if (entries_.empty() && idle_limit_) next = std::min(next, *idle_limit_);
  return next;
}

DeviceWorker::Entry* DeviceWorker::Find(const DeviceJob* job) {
  for (const auto& entry : entries_) {
    if (entry->job.get() == job) return entry.get();
  }
  return nullptr;
}

DeviceWorker::Ending DeviceWorker::Remove(const DeviceJob* job, Status status) {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const auto& entry) { return entry->job.get() == job; });
  INTERLACER_CHECK(it != entries_.end(), "the job is not known");
  Ending ending{std::move((*it)->job), (*it)->is_active, std::move(status)};
  entries_.erase(it);
  if (when_idle_) idle_limit_ = Clock::now() + idle_delay_;
  return ending;
}

int DeviceWorker::ActiveCount() const {
  return static_cast<int>(std::count_if(entries_.begin(), entries_.end(),
                                        [](const auto& entry) { return entry->is_active; }));
}

int DeviceWorker::PlaceCount(int priority) const {
  return static_cast<int>(std::count_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return !entry->parked_since && entry->job->priority() == priority;
  }));
}

int DeviceWorker::TurnCount(int priority) const {
  return static_cast<int>(std::count_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry->is_active && entry->is_ready && entry->job->priority() >= priority;
  }));
}

}  // namespace interlacer
