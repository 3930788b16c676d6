#pragma once

/// Schedules calls on the thread of a device: a bounded set of calls takes turns, one unit of work
/// each.
///
/// Between two units the worker chooses again: highest priority first; equal ones take turns. For
/// each priority there are `max_queue` + `max_active` places, of which calls of others take none; a
/// call starts when fewer than `max_active` of its priority or above take turns. A call whose
/// client does not read (kWaiting) is parked: it takes no turns and no place, costs nobody time and
/// keeps its device state. As many may be parked as there are places for one priority; beyond, the
/// one that has waited longest ends as SLOW_READER. All that are parked may be read again at once
/// while `max_active` others take turns, so MaxHeld calls may have device state. A call that is
/// cancelled, past its deadline or otherwise ended is removed before its next unit, or at once if
/// it is not running; an INTERNAL error of the unit that runs, such as DEVICE_LOST, is its end
/// nevertheless. Every submitted job gets exactly one End, and its device state is freed on the
/// worker's thread. Once the last job has ended, or memory was freed beside them (NoteFreed), and
/// no job followed for a while, `when_idle` runs once. Thread-safe; RunUnit and End of jobs never
/// overlap. Errors of Submit: RESOURCE_EXHAUSTED QUEUE_FULL with a retry delay, UNAVAILABLE
/// DRAINING after Stop.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "common/status.h"

namespace interlacer {

using Clock = std::chrono::steady_clock;

/// Of jobs: 0 is the lowest.
inline constexpr int kPriorityCount = 3;

/// Interface of a call to the worker.
class DeviceJob {
 public:
  enum class Progress {
    kReady,    ///< has another unit to run
    kWaiting,  ///< continues after DeviceWorker::Wake
    kDone,     ///< completed successfully
  };

  virtual ~DeviceJob() = default;
  /// Below kPriorityCount; jobs with a higher one run first.
  virtual int priority() const = 0;
  /// Estimate of the remaining device time in seconds, at most the rest of the job's life. Any
  /// thread.
  virtual double RemainingCostS() const = 0;
  /// An error if the job must not continue, such as after its deadline. Any thread.
  virtual Status CheckAlive(Clock::time_point now) const = 0;
  /// Time at which CheckAlive should be called again. Any thread.
  virtual Clock::time_point NextCheck() const = 0;
  /// Runs one unit on the worker's thread. An error ends the job.
  virtual StatusOr<Progress> RunUnit() = 0;
  /// Called once after the last unit of a job that ran any, on the worker's thread; before End, or
  /// after it when another thread ended the job.
  virtual void FreeDeviceState() = 0;
  /// Sends the status. Any thread.
  virtual void End(Status status) = 0;
};

class DeviceWorker {
 public:
  /// Of its thread, for `top -H` and debuggers.
  static constexpr char kThreadName[] = "device-worker";

  /// `when_idle` runs on the worker's thread, `idle_delay` after the last of all jobs has ended or
  /// the first NoteFreed since it last ran.
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
  /// Frees device state that no job holds, on the worker's thread; at once when that calls.
  void Free(std::shared_ptr<const void> state);
  /// Memory was freed that no job held, such as a request that was refused, or an answer long after
  /// its job has ended.
  void NoteFreed();
  /// Waits until the worker's thread is between two units; false when it is not by `limit` or
  /// before `stop`.
  bool AwaitTurn(const std::stop_token& stop, Clock::time_point limit);
  /// Estimated device time before a new job of this priority starts; jobs that have ended do not
  /// count.
  double CostAheadS(int priority) const;

  /// The most calls that can have device state: of each priority those that take turns, and as many
  /// as may be parked.
  static constexpr std::int64_t MaxHeld(int max_queue, int max_active) {
    return std::int64_t{kPriorityCount} * (std::int64_t{2} * max_active + max_queue);
  }
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
    /// Set while the job waits for its reader.
    std::optional<Clock::time_point> parked_since;
    /// Number of the job's last unit among all; 0 before its first.
    std::int64_t last_turn = 0;
    Status stop_status;
  };
  struct Ending {
    std::shared_ptr<DeviceJob> job;
    bool has_device_state = false;
    Status status;
  };

  /// All below require the lock; Run and RunOne release it while a job works.
  Status CheckRoomFor(int priority, double cost_ahead_s) const;
  void Run();
  void CollectOver(Clock::time_point now, std::vector<Ending>* endings);
  Entry* PickNext();
  void RunOne(Entry* entry, std::unique_lock<std::mutex>* lock);
  Clock::time_point NextCheck() const;
  Entry* Find(const DeviceJob* job);
  /// Adds the job that has been parked longest if too many are.
  void CollectParked(std::vector<Ending>* endings) const;
  /// The job must be known.
  Ending Remove(const DeviceJob* job, Status status);
  int ActiveCount() const;
  /// Number of calls of this priority that are not parked.
  int PlaceCount(int priority) const;
  /// Number of active calls with a unit to run, of this priority or above.
  int TurnCount(int priority) const;

  const int max_queue_;
  const int max_active_;
  const std::function<void()> when_idle_;
  const Clock::duration idle_delay_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  /// Entries in order of arrival; their addresses are stable.
  std::vector<std::unique_ptr<Entry>> entries_;
  /// Jobs that another thread ended, whose device state is still to be freed.
  std::vector<std::shared_ptr<DeviceJob>> retired_;
  /// State passed to Free by other threads.
  std::vector<std::shared_ptr<const void>> unused_;
  std::int64_t turn_count_ = 0;
  std::optional<Clock::time_point> unit_start_;
  /// Time at which when_idle runs unless a job arrives; set whenever a job ends, and by NoteFreed
  /// where it is not set.
  std::optional<Clock::time_point> idle_limit_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace interlacer
