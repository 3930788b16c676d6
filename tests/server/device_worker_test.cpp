/// Order, bounds and endings of the device worker, with jobs that only count.

#include "server/calls/device_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
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
    journal_.Add(name_);
    if (fails) return Internal("broken");
    if (--units_left_ == 0) return Progress::kDone;
    return is_reader_stalled ? Progress::kWaiting : Progress::kReady;
  }
  void End(Status status) override {
    ++end_count;
    journal_.Add(name_ + " " + (status.ok() ? "OK" : status.reason()));
  }

  std::atomic<int> end_count{0};
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

TEST_F(DeviceWorkerTest, FirstComeIsFinishedFirst) {
  gate_.Close();
  auto a = Job("a", 1, 2), b = Job("b", 1, 2);
  SubmitReady(a);
  ASSERT_TRUE(gate_.WaitForUnit());
  SubmitReady(b);
  gate_.Open();
  ASSERT_TRUE(WaitUntil([&] { return b->end_count == 1; }));
  EXPECT_EQ(journal_.Read(), (std::vector<std::string>{"a", "a", "a OK", "b", "b", "b OK"}));
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
