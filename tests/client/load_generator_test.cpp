#include "client/load_generator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "common/retry_delay.h"

namespace interlacer {
namespace {

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

const auto kIgnore = [](const LoadReport&) {};

TEST(LoadGenerator, AClosedLoopHasOneCallOfEachClientInFlight) {
  std::atomic<int> now{0}, most{0};
  const LoadOptions options{.client_count = 3, .duration_s = 0.2};
  const LoadReport report =
      RunLoad(options,
              [&](RequestPriority, const std::function<void()>& on_message) {
                const int in_flight = ++now;
                int seen = most;
                while (seen < in_flight && !most.compare_exchange_weak(seen, in_flight)) {
                }
                Sleep(0.01);
                on_message();
                Sleep(0.01);
                --now;
                return Status::Ok();
              },
              kIgnore, {});
  EXPECT_EQ(most, 3);
  EXPECT_GE(report.calls.size(), 3u);
  EXPECT_GE(report.duration_s, 0.2 - 0.02);
  for (const CallTimes& call : report.calls) {
    EXPECT_GE(call.first_s, 0.01);
    EXPECT_GE(call.whole_s, call.first_s + 0.01);
    EXPECT_EQ(call.error, "");
  }
}

/// One client that takes 50 ms cannot keep up with 100 calls a second: the wait is theirs.
TEST(LoadGenerator, AnOpenLoopCountsFromWhenACallWasDue) {
  const LoadOptions options{.client_count = 1, .rate_hz = 100, .duration_s = 0.1};
  const LoadReport report = RunLoad(options,
                                    [](RequestPriority, const std::function<void()>&) {
                                      Sleep(0.05);
                                      return Status::Ok();
                                    },
                                    kIgnore, {});
  ASSERT_GE(report.calls.size(), 3u);
  const auto n = static_cast<double>(report.calls.size());
  EXPECT_GE(report.calls.back().whole_s, 0.05 * n - 0.1) << "calls are due within 0.1 s";
  EXPECT_EQ(report.calls.back().first_s, 0) << "no message came";
}

TEST(LoadGenerator, ASeedGivesTheSameNumberOfCalls) {
  std::set<std::size_t> counts;
  for (int i = 0; i < 2; ++i) {
    const LoadOptions options{.client_count = 8, .rate_hz = 400, .duration_s = 0.1, .seed = 5};
    counts.insert(
        RunLoad(options, [](RequestPriority, const std::function<void()>&) { return Status::Ok(); },
                kIgnore, {})
            .calls.size());
  }
  EXPECT_EQ(counts.size(), 1u);
  EXPECT_GT(*counts.begin(), 10u);
}

TEST(LoadGenerator, PrioritiesTakeTurnsAndErrorsAreNamed) {
  const LoadOptions options{
      .client_count = 2,
      .duration_s = 0.05,
      .priorities = {RequestPriority::kControl, RequestPriority::kBackground}};
  std::size_t seen = 0;
  const LoadReport report = RunLoad(
      options,
      [](RequestPriority priority, const std::function<void()>&) {
        Sleep(0.005);
        if (priority == RequestPriority::kControl) return Status::Ok();
        return ResourceExhausted(reason::QUEUE_FULL, "no place");
      },
      [&](const LoadReport& so_far) { seen = so_far.calls.size(); }, {});
  EXPECT_EQ(seen, report.calls.size());
  std::ptrdiff_t control = 0;
  for (const CallTimes& call : report.calls) {
    const bool is_control = call.priority == RequestPriority::kControl;
    control += is_control;
    EXPECT_EQ(call.error, is_control ? "" : "QUEUE_FULL");
  }
  const auto background = static_cast<std::ptrdiff_t>(report.calls.size()) - control;
  EXPECT_LE(std::abs(control - background), 1);
  EXPECT_EQ(PriorityName(RequestPriority::kControl), "control");
}

/// A client that asked again at once would take the server's time from those that it works for.
TEST(LoadGenerator, ARefusedClientOfAClosedLoopComesAgainAfterTheDelay) {
  const LoadOptions options{.client_count = 1, .duration_s = 0.2};
  const auto refuse = [](const char* delay_s) {
    return [delay_s](RequestPriority, const std::function<void()>&) {
      return ResourceExhausted(reason::QUEUE_FULL, "full").WithMetadata(kRetryDelayKey, delay_s);
    };
  };
  LoadReport report = RunLoad(options, refuse("0.05"), kIgnore, {});
  EXPECT_GE(report.calls.size(), 1u);
  EXPECT_LE(report.calls.size(), 5u);
  report = RunLoad(options, refuse("30"), kIgnore, {});
  EXPECT_EQ(report.calls.size(), 1u);
  EXPECT_LT(report.duration_s, 10) << "nobody waits beyond the end of the load";
}

TEST(LoadGenerator, AStopEndsTheWaitForTheNextCall) {
  std::stop_source stop;
  std::jthread stopper([&] {
    Sleep(0.05);
    stop.request_stop();
  });
  const auto start = std::chrono::steady_clock::now();
  RunLoad(
      {.client_count = 2, .rate_hz = 0.001, .duration_s = 100000},
      [](RequestPriority, const std::function<void()>&) { return Status::Ok(); }, kIgnore,
      stop.get_token());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(LoadGenerator, CallsThatAStopCancelsAreNoErrors) {
  std::stop_source stop;
  int number = 0;
  const LoadReport report = RunLoad(
      {.client_count = 1, .duration_s = 100000},
      [&](RequestPriority, const std::function<void()>&) {
        if (++number == 1) return Cancelled("by the server");
        stop.request_stop();
        return Cancelled("stopped");
      },
      kIgnore, stop.get_token());
  ASSERT_EQ(report.calls.size(), 1u);
  EXPECT_NE(report.calls[0].error, "") << "nobody had asked for this one's end";
}

}  // namespace
}  // namespace interlacer
