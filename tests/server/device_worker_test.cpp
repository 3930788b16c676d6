/// Order, bounds and endings of the device worker, with jobs that only count.

#include "server/calls/device_worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/in_process_server.h"

namespace interlacer::testing {
namespace {

struct Journal {
  std::mutex mutex;
  std::vector<std::string> entries;

  void Add(const std::string& entry) {
    std::lock_guard lock(mutex);
    entries.push_back(entry);
  }
  std::vector<std::string> Read() {
    std::lock_guard lock(mutex);
    return entries;
  }
};

class CountingJob final : public DeviceJob {
 public:
  CountingJob(std::string name, int priority, int unit_count, Journal* journal,
              Gate* gate = nullptr)
      : name_(std::move(name)),
        priority_(priority),
        units_left_(unit_count),
        journal_(*journal),
        gate_(gate) {}

  int priority() const override { return priority_; }
  double RemainingCostS() const override { return units_left_; }
  Status CheckAlive(Clock::time_point now) const override {
    return now < limit ? Status::Ok() : DeadlineExceeded(reason::CALL_TOO_LONG, "over");
  }
  Clock::time_point NextCheck() const override { return limit; }
  StatusOr<Progress> RunUnit() override {
    if (gate_ != nullptr) gate_->Pass();
    unit_thread = std::this_thread::get_id();
    journal_.Add(name_);
    if (fails) return Internal("broken");
    if (--units_left_ == 0) return Progress::kDone;
    return is_reader_stalled ? Progress::kWaiting : Progress::kReady;
  }
  void FreeDeviceState() override {
    ++free_count;
    freeing_thread = std::this_thread::get_id();
  }
  void End(Status status) override {
    ++end_count;
    journal_.Add(name_ + " " + (status.ok() ? "OK" : status.reason()));
  }

  std::atomic<int> end_count{0};
  std::atomic<int> free_count{0};
  std::atomic<std::thread::id> unit_thread, freeing_thread;
  bool fails = false;
  std::atomic<bool> is_reader_stalled{false};
  Clock::time_point limit = Clock::time_point::max();

 private:
  const std::string name_;
  const int priority_;
  std::atomic<int> units_left_;
  Journal& journal_;
  Gate* const gate_;
};

class DeviceWorkerTest : public ::testing::Test {
 protected:
  std::shared_ptr<CountingJob> Job(const std::string& name, int priority, int units) {
    return std::make_shared<CountingJob>(name, priority, units, &journal_, &gate_);
  }
  void SubmitReady(const std::shared_ptr<CountingJob>& job) {
    ASSERT_TRUE(worker_.Submit(job).ok());
    worker_.Wake(job.get());
  }

  Journal journal_;
  Gate gate_;
  DeviceWorker worker_{2, 2};
};

TEST_F(DeviceWorkerTest, EqualPrioritiesTakeTurns) {
  gate_.Close();
  auto a = Job("a", 1, 2), b = Job("b", 1, 2);
  SubmitReady(a);
  ASSERT_TRUE(gate_.WaitForUnit());
  SubmitReady(b);
  gate_.Open();
  ASSERT_TRUE(WaitUntil([&] { return b->end_count == 1; }));
  EXPECT_EQ(journal_.Read(), (std::vector<std::string>{"a", "b", "a", "a OK", "b", "b OK"}));
}

TEST_F(DeviceWorkerTest, HigherPriorityTakesTheNextUnit) {
  gate_.Close();
  auto slow = Job("slow", 0, 3), urgent = Job("urgent", 2, 2);
  SubmitReady(slow);
  ASSERT_TRUE(gate_.WaitForUnit());
  SubmitReady(urgent);
  gate_.Open();
  ASSERT_TRUE(WaitUntil([&] { return slow->end_count == 1; }));
  EXPECT_EQ(journal_.Read(), (std::vector<std::string>{"slow", "urgent", "urgent", "urgent OK",
                                                       "slow", "slow", "slow OK"}));
}

TEST_F(DeviceWorkerTest, JobsWithAStalledReaderTakeNoPlaceAndGoOnWhenItReads) {
  auto a = Job("a", 1, 2), b = Job("b", 1, 2), c = Job("c", 1, 2);
  for (const auto& job : {a, b}) {
    job->is_reader_stalled = true;
    SubmitReady(job);
  }
  ASSERT_TRUE(WaitUntil([&] { return journal_.Read().size() == 2; }));
  SubmitReady(c);
  ASSERT_TRUE(WaitUntil([&] { return c->end_count == 1; }));
  EXPECT_EQ(worker_.active_count(), 2);
  worker_.Wake(a.get());
  ASSERT_TRUE(WaitUntil([&] { return a->end_count == 1; }));
  EXPECT_EQ(journal_.Read(), (std::vector<std::string>{"a", "b", "c", "c", "c OK", "a", "a OK"}));
}

TEST_F(DeviceWorkerTest, ManyJobsOfLowPriorityDoNotKeepAHigherOneFromStarting) {
  gate_.Close();
  auto first = Job("low", 0, 3), second = Job("low", 0, 3), urgent = Job("urgent", 2, 1);
  SubmitReady(first);
  ASSERT_TRUE(gate_.WaitForUnit());
  SubmitReady(second);
  gate_.Allow(1);
  // Both are active now, as many as may take turns.
  ASSERT_TRUE(WaitUntil([&] { return worker_.active_count() == 2; }));
  SubmitReady(urgent);
  gate_.Open();
  ASSERT_TRUE(WaitUntil([&] { return second->end_count == 1; }));
  const std::vector<std::string> journal = journal_.Read();
  EXPECT_EQ(std::vector<std::string>(journal.begin(), journal.begin() + 4),
            (std::vector<std::string>{"low", "low", "urgent", "urgent OK"}));
}

TEST_F(DeviceWorkerTest, EachPriorityHasPlacesOfItsOwn) {
  for (const int priority : {1, 0, 2}) {
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(worker_.Submit(Job("j", priority, 1)).ok()) << priority;
    EXPECT_EQ(worker_.Submit(Job("late", priority, 1)).reason(), reason::QUEUE_FULL);
  }
}

/// Whenever it comes: one unit that runs already may end first, and none runs between its own.
// fm-19
TEST_F(DeviceWorkerTest, BesideTwelveOthersAnUrgentJobWaitsForOneUnitAtMost) {
  DeviceWorker worker{8, 4};
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(worker.Submit(Job("low", 0, 1 << 30), true).ok());
  constexpr int kUrgentCount = 50;
  for (int i = 0; i < kUrgentCount; ++i) {
    auto urgent = Job("urgent", 2, 3);
    ASSERT_TRUE(worker.Submit(urgent, true).ok());
    journal_.Add("come");
    ASSERT_TRUE(WaitUntil([&] { return urgent->end_count == 1; }));
  }
  worker.Stop();
  const std::vector<std::string> journal = journal_.Read();
  int low_since_come = 0, urgent_units = 0, come_count = 0;
  for (std::size_t i = 0; i < journal.size(); ++i) {
    if (journal[i] == "come") {
      ++come_count;
      low_since_come = 0;
    }
    // Before its "come", which this thread may write late, a job need not be there yet.
    if (journal[i] == "low" && 3 * come_count > urgent_units) ++low_since_come;
    if (journal[i] != "urgent") continue;
    ++urgent_units;
    EXPECT_LE(low_since_come, urgent_units % 3 == 1 ? 1 : 0) << "before unit " << urgent_units;
    low_since_come = 0;
  }
  EXPECT_EQ(urgent_units, 3 * kUrgentCount);
  EXPECT_GT(std::count(journal.begin(), journal.end(), "low"), kUrgentCount);
}

TEST_F(DeviceWorkerTest, JobsWithAStalledReaderLeaveTheirPlacesAndCostNothing) {
  std::vector<std::shared_ptr<CountingJob>> parked;
  for (int i = 0; i < 4; ++i) {
    parked.push_back(Job("p", 1, 10));
    parked.back()->is_reader_stalled = true;
    SubmitReady(parked.back());
  }
  ASSERT_TRUE(WaitUntil([&] { return journal_.Read().size() == 4 && !worker_.unit_start(); }));
  EXPECT_EQ(worker_.CostAheadS(1), 0);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(worker_.Submit(Job("j", 1, 1)).ok());
  EXPECT_EQ(worker_.Submit(Job("late", 1, 1)).reason(), reason::QUEUE_FULL);
  for (const auto& job : parked) EXPECT_EQ(job->end_count, 0);
}

TEST_F(DeviceWorkerTest, OfTooManyStalledReadersTheLongestWaitingIsCutOff) {
  std::vector<std::shared_ptr<CountingJob>> parked;
  for (int i = 0; i < 6; ++i) {
    parked.push_back(Job(std::to_string(i), 1, 10));
    parked.back()->is_reader_stalled = true;
    SubmitReady(parked.back());
    ASSERT_TRUE(WaitUntil([&] {
      const auto journal = journal_.Read();
      return std::find(journal.begin(), journal.end(), std::to_string(i)) != journal.end();
    }));
  }
  ASSERT_TRUE(WaitUntil([&] { return parked[1]->end_count == 1; }));
  EXPECT_EQ(parked[0]->end_count, 1);
  EXPECT_EQ(parked[2]->end_count, 0);
  const auto journal = journal_.Read();
  EXPECT_EQ(std::count(journal.begin(), journal.end(), "0 SLOW_READER"), 1);
}

TEST_F(DeviceWorkerTest, DeviceStateIsFreedOnceOnTheThreadOfTheDevice) {
  auto done = Job("done", 1, 1), cancelled = Job("cancelled", 1, 10), never = Job("never", 1, 1);
  cancelled->is_reader_stalled = true;
  SubmitReady(done);
  SubmitReady(cancelled);
  ASSERT_TRUE(worker_.Submit(never).ok());
  ASSERT_TRUE(WaitUntil([&] { return worker_.active_count() == 1 && done->end_count == 1; }));
  ASSERT_TRUE(WaitUntil([&] { return worker_.CostAheadS(1) == 1; }));  // the other is parked
  worker_.Cancel(cancelled.get(), Cancelled("test"));
  EXPECT_EQ(cancelled->end_count, 1) << "the status does not wait for the device";
  worker_.Cancel(never.get(), Cancelled("test"));
  ASSERT_TRUE(WaitUntil([&] { return cancelled->free_count == 1; }));
  EXPECT_EQ(cancelled->freeing_thread.load(), cancelled->unit_thread.load());
  EXPECT_EQ(done->freeing_thread.load(), done->unit_thread.load());
  worker_.Stop();
  EXPECT_EQ(done->free_count, 1);
  EXPECT_EQ(cancelled->free_count, 1);
  EXPECT_EQ(never->free_count, 0) << "it had no device state";
}

TEST_F(DeviceWorkerTest, CancelledAndOverdueJobsCostNothingAhead) {
  gate_.Close();
  auto running = Job("running", 1, 5), waiting = Job("waiting", 1, 3);
  SubmitReady(running);
  ASSERT_TRUE(gate_.WaitForUnit());
  SubmitReady(waiting);
  EXPECT_EQ(worker_.CostAheadS(1), 8);
  worker_.Cancel(running.get(), Cancelled("gone"));  // inside a unit
  EXPECT_EQ(running->end_count, 0);
  EXPECT_EQ(worker_.CostAheadS(1), 3);
  waiting->limit = Clock::now();
  EXPECT_EQ(worker_.CostAheadS(1), 0);
  gate_.Open();
  EXPECT_TRUE(WaitUntil([&] { return running->end_count == 1 && waiting->end_count == 1; }));
}

TEST_F(DeviceWorkerTest, AJobWaitsForItsWake) {
  auto job = Job("a", 1, 1);
  ASSERT_TRUE(worker_.Submit(job).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(journal_.Read().empty());
  EXPECT_EQ(worker_.queue_length(), 1);
  worker_.Wake(job.get());
  EXPECT_TRUE(WaitUntil([&] { return job->end_count == 1; }));
}

TEST_F(DeviceWorkerTest, RefusesBeyondQueueAndActive) {
  std::vector<std::shared_ptr<CountingJob>> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(Job("j", 1, 1));
    ASSERT_TRUE(worker_.Submit(jobs.back()).ok());
  }
  const Status status = worker_.Submit(Job("late", 1, 1));
  EXPECT_EQ(status.reason(), reason::QUEUE_FULL);
  EXPECT_EQ(status.metadata().count("retry_delay_s"), 1u);
}

TEST_F(DeviceWorkerTest, CostAheadCountsEqualAndHigherPriorities) {
  for (const int priority : {0, 1, 2}) ASSERT_TRUE(worker_.Submit(Job("j", priority, 10)).ok());
  EXPECT_EQ(worker_.CostAheadS(0), 30);
  EXPECT_EQ(worker_.CostAheadS(1), 20);
  EXPECT_EQ(worker_.CostAheadS(2), 10);
}

TEST_F(DeviceWorkerTest, CancelEndsAWaitingJobAtOnceAndARunningOneAfterItsUnit) {
  gate_.Close();
  auto running = Job("running", 1, 5), waiting = Job("waiting", 1, 5);
  SubmitReady(running);
  ASSERT_TRUE(gate_.WaitForUnit());
  SubmitReady(waiting);
  worker_.Cancel(waiting.get(), Cancelled("test"));
  EXPECT_EQ(waiting->end_count, 1);
  worker_.Cancel(running.get(), Cancelled("test"));
  EXPECT_EQ(running->end_count, 0);
  gate_.Open();
  ASSERT_TRUE(WaitUntil([&] { return running->end_count == 1; }));
  EXPECT_EQ(journal_.Read(), (std::vector<std::string>{"waiting CANCELLED_BY_CALLER", "running",
                                                       "running CANCELLED_BY_CALLER"}));
}

TEST_F(DeviceWorkerTest, AJobPastItsLimitEndsWithoutAWake) {
  auto job = Job("a", 1, 1);
  job->limit = Clock::now() + std::chrono::milliseconds(20);
  ASSERT_TRUE(worker_.Submit(job).ok());
  ASSERT_TRUE(WaitUntil([&] { return job->end_count == 1; }));
  EXPECT_EQ(journal_.Read(), (std::vector<std::string>{"a CALL_TOO_LONG"}));
}

TEST_F(DeviceWorkerTest, AnErrorEndsTheJobOnly) {
  auto bad = Job("bad", 1, 3), good = Job("good", 1, 1);
  bad->fails = true;
  SubmitReady(bad);
  SubmitReady(good);
  ASSERT_TRUE(WaitUntil([&] { return bad->end_count == 1 && good->end_count == 1; }));
  EXPECT_EQ(journal_.Read(),
            (std::vector<std::string>{"bad", "bad INTERNAL_ERROR", "good", "good OK"}));
}

/// Else nobody would hear of a device that was lost under a call whose client had gone.
// fm-22
TEST_F(DeviceWorkerTest, AFaultOfAUnitIsTheEndOfItsJobAlsoWhereThatWasCancelledMeanwhile) {
  gate_.Close();
  auto job = Job("a", 1, 5);
  job->fails = true;
  SubmitReady(job);
  ASSERT_TRUE(gate_.WaitForUnit());
  worker_.Cancel(job.get(), Cancelled("gone"));
  gate_.Open();
  ASSERT_TRUE(WaitUntil([&] { return job->end_count == 1; }));
  EXPECT_EQ(journal_.Read(), (std::vector<std::string>{"a", "a INTERNAL_ERROR"}));
}

/// Of each priority four are parked and read again, so that they take turns beside two others.
// fm-21
TEST_F(DeviceWorkerTest, AsManyJobsHoldDeviceStateAsTheStartCountsAndNoMore) {
  int held = 0;
  for (int priority = 0; priority < kPriorityCount; ++priority) {
    std::vector<std::shared_ptr<CountingJob>> parked;
    for (int i = 0; i < 4; ++i) {
      parked.push_back(Job("parked", priority, 1 << 30));
      parked.back()->is_reader_stalled = true;
      SubmitReady(parked.back());
    }
    held += 4;
    ASSERT_TRUE(WaitUntil(
        [&] { return worker_.active_count() == held && worker_.CostAheadS(priority) == 0; }));
    for (int i = 0; i < 2; ++i) SubmitReady(Job("turns", priority, 1 << 30));
    held += 2;
    ASSERT_TRUE(WaitUntil([&] { return worker_.active_count() == held; }));
    for (const auto& job : parked) {
      job->is_reader_stalled = false;
      worker_.Wake(job.get());
    }
    EXPECT_EQ(worker_.Submit(Job("late", priority, 1), true).reason(), reason::QUEUE_FULL);
  }
  EXPECT_EQ(worker_.active_count(), DeviceWorker::MaxHeld(2, 2));
  worker_.Stop();
}

class IdleWorkerTest : public DeviceWorkerTest {
 protected:
  static constexpr std::chrono::milliseconds kDelay{20};
  /// Long enough for a call that must not come.
  static void WaitAWhile() { std::this_thread::sleep_for(5 * kDelay); }
  void Submit(const std::shared_ptr<CountingJob>& job, bool is_ready) {
    ASSERT_TRUE(idle_worker_.Submit(job, is_ready).ok());
  }

  std::atomic<int> idle_count_{0};
  DeviceWorker idle_worker_{2, 2, [this] { ++idle_count_; }, kDelay};
};

TEST_F(IdleWorkerTest, IsIdleOnceAfterEachPeriodOfWork) {
  WaitAWhile();
  EXPECT_EQ(idle_count_, 0);  // nothing was done that would leave something
  for (int period = 1; period <= 2; ++period) {
    auto a = Job("a", 1, 2), b = Job("b", 1, 1);
    gate_.Close();
    Submit(a, true);
    Submit(b, true);
    gate_.Open();
    ASSERT_TRUE(WaitUntil([&] { return idle_count_ == period; }));
    EXPECT_EQ(a->end_count + b->end_count, 2);
    WaitAWhile();
    EXPECT_EQ(idle_count_, period);
  }
}

TEST_F(IdleWorkerTest, IsNotIdleWhileWorkRunsOrWaits) {
  gate_.Close();
  auto waiting = Job("waiting", 1, 2);
  Submit(Job("first", 1, 1), true);
  Submit(waiting, false);  // not woken yet: its frames are being decoded
  gate_.Open();
  WaitAWhile();
  EXPECT_EQ(idle_count_, 0);
  waiting->is_reader_stalled = true;
  idle_worker_.Wake(waiting.get());  // its reader stalls after the first unit
  WaitAWhile();
  EXPECT_EQ(idle_count_, 0);
  gate_.Close();
  idle_worker_.Wake(waiting.get());
  ASSERT_TRUE(gate_.WaitForUnit());
  WaitAWhile();
  EXPECT_EQ(idle_count_, 0);
  gate_.Open();
  ASSERT_TRUE(WaitUntil([&] { return idle_count_ == 1; }));
  EXPECT_EQ(waiting->end_count, 1);
}

TEST_F(IdleWorkerTest, ACancelledJobCountsAsWork) {
  auto job = Job("a", 1, 1);
  Submit(job, false);
  idle_worker_.Cancel(job.get(), Cancelled("gone"));
  EXPECT_TRUE(WaitUntil([&] { return idle_count_ == 1; }));
}

TEST_F(DeviceWorkerTest, StopEndsEveryJobOnceAndRefusesNewOnes) {
  auto a = Job("a", 1, 1), b = Job("b", 1, 1);
  ASSERT_TRUE(worker_.Submit(a).ok());
  ASSERT_TRUE(worker_.Submit(b).ok());
  worker_.Stop();
  EXPECT_EQ(a->end_count, 1);
  EXPECT_EQ(b->end_count, 1);
  EXPECT_EQ(worker_.Submit(Job("c", 1, 1)).reason(), reason::DRAINING);
}

}  // namespace
}  // namespace interlacer::testing
