#pragma once

/// One thread for one device: a bounded set of calls that take turns, one unit of work at a time.
///
/// Between two units the worker picks again: highest priority first, then first come. A call begins
/// when fewer than `max_active` take turns; up to `max_queue` more wait. A call whose client does
/// not read (kWaiting) takes no turn and keeps its device state, so that up to `max_queue` +
/// `max_active` calls may hold some. A call that is cancelled, past its deadline or otherwise over
/// is ended before its next unit, and at once when it is not running. Every submitted job gets
/// exactly one End. Once the last job is gone and none came for a while, the worker does what is
/// put off until then, one time. Thread-safe; the jobs' RunUnit and End never overlap. Errors of
/// Submit: RESOURCE_EXHAUSTED QUEUE_FULL with a retry delay, UNAVAILABLE DRAINING after Stop.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/status.h"

namespace interlacer {

using Clock = std::chrono::steady_clock;

/// A call as the worker sees it.
class DeviceJob {
 public:
  enum class Progress {
    kReady,    ///< has another unit to run
    kWaiting,  ///< runs on after DeviceWorker::Wake
    kDone,     ///< finished well
  };

  virtual ~DeviceJob() = default;
  /// Larger goes first.
  virtual int priority() const = 0;
  /// Seconds of device time that are still to come, by estimate. Any thread.
  virtual double RemainingCostS() const = 0;
  /// Not OK when the job must not run any further, such as after its deadline. Any thread.
  virtual Status CheckAlive(Clock::time_point now) const = 0;
  /// When CheckAlive is worth asking again. Any thread.
  virtual Clock::time_point NextCheck() const = 0;
  /// One unit; on the worker's thread. An error ends the job.
  virtual StatusOr<Progress> RunUnit() = 0;
  /// The last call to the job: frees device state and answers the caller.
  virtual void End(Status status) = 0;
};

class DeviceWorker {
 public:
  /// `when_idle` runs on the worker's thread, `idle_delay` after the last of all jobs has ended.
  DeviceWorker(int max_queue, int max_active, std::function<void()> when_idle = {},
               Clock::duration idle_delay = {});
  ~DeviceWorker();
  DeviceWorker(const DeviceWorker&) = delete;
  DeviceWorker& operator=(const DeviceWorker&) = delete;

  /// Whether Submit would refuse a job now, and why.
  Status CheckRoom(int priority) const;
  /// A job that is not ready waits until its first Wake.
  Status Submit(std::shared_ptr<DeviceJob> job, bool is_ready = false);
  /// The job has something to do. Unknown jobs are ignored.
  void Wake(const DeviceJob* job);
  /// Ends the job before its next unit, at once when it is not running. Unknown jobs are ignored.
  void Cancel(const DeviceJob* job, Status status);
  void CancelAll(Status status);
  /// Estimated device time ahead of a new job of this priority, without jobs that are over.
  double CostAheadS(int priority) const;

  /// Calls that wait, and calls that hold device state.
  int queue_length() const;
  int active_count() const;
  /// Start of the unit that runs now.
  std::optional<Clock::time_point> unit_start() const;

  /// Cancels what is left and joins the thread.
  void Stop();

 private:
  struct Entry {
    std::shared_ptr<DeviceJob> job;
    bool is_ready = false;
    bool is_active = false;
    bool is_running = false;
    Status stop_status;
  };
  struct Ending {
    std::shared_ptr<DeviceJob> job;
    Status status;
  };

  /// Under the lock.
  Status CheckRoomFor(double cost_ahead_s) const;
  void Run();
  void CollectOver(Clock::time_point now, std::vector<Ending>* endings);
  Entry* PickNext();
  void RunOne(Entry* entry, std::unique_lock<std::mutex>* lock);
  Clock::time_point NextCheck() const;
  Entry* Find(const DeviceJob* job);
  std::shared_ptr<DeviceJob> Remove(const DeviceJob* job);
  int ActiveCount() const;
  /// Active calls with a unit to run.
  int TurnCount() const;

  const int max_queue_;
  const int max_active_;
  const std::function<void()> when_idle_;
  const Clock::duration idle_delay_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  /// In order of arrival; entries are stable in memory.
  std::vector<std::unique_ptr<Entry>> entries_;
  std::optional<Clock::time_point> unit_start_;
  /// When when_idle is due unless a job comes; set whenever a job goes.
  std::optional<Clock::time_point> idle_limit_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace interlacer
