#pragma once

/// Schedules calls on the thread of a device: a bounded set of calls takes turns, one unit of work
/// each.
///
/// Between two units the worker chooses again: highest priority first, then first come. A call
/// starts when fewer than `max_active` take turns; up to `max_queue` more wait. A call whose client
/// does not read (kWaiting) takes no turns and keeps its device state, so that up to `max_queue` +
/// `max_active` calls may hold some. A call that is cancelled, past its deadline or otherwise ended
/// is removed before its next unit, or at once if it is not running. Every submitted job gets
/// exactly one End. Once the last job has ended and none followed for a while, `when_idle` runs
/// once. Thread-safe; RunUnit and End of jobs never overlap. Errors of Submit: RESOURCE_EXHAUSTED
/// QUEUE_FULL with a retry delay, UNAVAILABLE DRAINING after Stop.

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

/// Interface of a call to the worker.
class DeviceJob {
 public:
  enum class Progress {
    kReady,    ///< has another unit to run
    kWaiting,  ///< continues after DeviceWorker::Wake
    kDone,     ///< completed successfully
  };

  virtual ~DeviceJob() = default;
  /// Jobs with a higher priority run first.
  virtual int priority() const = 0;
  /// Estimate of the remaining device time in seconds. Any thread.
  virtual double RemainingCostS() const = 0;
  /// An error if the job must not continue, such as after its deadline. Any thread.
  virtual Status CheckAlive(Clock::time_point now) const = 0;
  /// Time at which CheckAlive should be called again. Any thread.
  virtual Clock::time_point NextCheck() const = 0;
  /// Runs one unit on the worker's thread. An error ends the job.
  virtual StatusOr<Progress> RunUnit() = 0;
  /// The last call to the job: frees device state and sends the status.
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

  /// Returns the error with which Submit would refuse a job now, or OK.
  Status CheckRoom(int priority) const;
  /// Adds a job. A job that is not ready waits until its first Wake.
  Status Submit(std::shared_ptr<DeviceJob> job, bool is_ready = false);
  /// Marks the job as ready. Unknown jobs are ignored.
  void Wake(const DeviceJob* job);
  /// Ends the job before its next unit, at once when it is not running. Unknown jobs are ignored.
  void Cancel(const DeviceJob* job, Status status);
  void CancelAll(Status status);
  /// Estimated device time before a new job of this priority starts; jobs that have ended do not
  /// count.
  double CostAheadS(int priority) const;

  /// Number of waiting calls, and number of calls with device state.
  int queue_length() const;
  int active_count() const;
  /// Start time of the unit that is running.
  std::optional<Clock::time_point> unit_start() const;

  /// Cancels the remaining jobs and joins the thread.
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

  /// Requires the lock.
  Status CheckRoomFor(double cost_ahead_s) const;
  void Run();
  void CollectOver(Clock::time_point now, std::vector<Ending>* endings);
  Entry* PickNext();
  void RunOne(Entry* entry, std::unique_lock<std::mutex>* lock);
  Clock::time_point NextCheck() const;
  Entry* Find(const DeviceJob* job);
  std::shared_ptr<DeviceJob> Remove(const DeviceJob* job);
  int ActiveCount() const;
  /// Number of active calls with a unit to run.
  int TurnCount() const;

  const int max_queue_;
  const int max_active_;
  const std::function<void()> when_idle_;
  const Clock::duration idle_delay_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  /// Entries in order of arrival; their addresses are stable.
  std::vector<std::unique_ptr<Entry>> entries_;
  std::optional<Clock::time_point> unit_start_;
  /// Time at which when_idle runs unless a job arrives; set whenever a job ends.
  std::optional<Clock::time_point> idle_limit_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace interlacer
