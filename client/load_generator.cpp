#include "client/load_generator.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "common/duration.h"
#include "common/retry_delay.h"

namespace interlacer {
namespace {

using Clock = std::chrono::steady_clock;

class LoadRun {
 public:
  LoadRun(const LoadOptions& options, const LoadCall& call,
          const std::function<void(const LoadReport&)>& on_end, const std::stop_token& stop)
      : options_(options),
        call_(call),
        on_end_(on_end),
        stop_(stop),
        random_(options.seed),
        gap_s_(options.rate_hz > 0 ? options.rate_hz : 1) {}

  LoadReport Run() {
    {
      std::vector<std::jthread> clients;
      for (int i = 0; i < options_.client_count; ++i) clients.emplace_back([this] { Work(); });
    }
    report_.duration_s = SecondsSince(start_);
    return std::move(report_);
  }

 private:
  struct Due {
    std::int64_t number = 0;
    Clock::time_point time;
  };

  /// The next call, or nothing once the time is over.
  std::optional<Due> Next() {
    const std::lock_guard lock(mutex_);
    Due due{count_, Clock::now()};
    if (options_.rate_hz > 0) {
      next_s_ += gap_s_(random_);
      due.time = start_ + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(next_s_));
    }
    if (SecondsBetween(start_, due.time) >= options_.duration_s) return std::nullopt;
    ++count_;
    return due;
  }

  /// False where a stop request came first.
  bool WaitUntil(Clock::time_point time) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, stop_, time, [] { return false; });
    return !stop_.stop_requested();
  }

  /// Not after the end of the load.
  Clock::time_point RetryTime(const Status& status) const {
    const double left_s = options_.duration_s - SecondsSince(start_);
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                              std::min(RetryDelayS(status), std::max(left_s, 0.0))));
  }

  void Work() {
    while (const std::optional<Due> due = Next()) {
      if (!WaitUntil(due->time)) return;
      CallTimes times;
      times.priority =
          options_.priorities[static_cast<std::size_t>(due->number) % options_.priorities.size()];
      const Status status = call_(times.priority, [&] {
        if (times.first_s == 0) times.first_s = SecondsSince(due->time);
      });
      if (status.code() == StatusCode::kCancelled && stop_.stop_requested()) return;
      times.whole_s = SecondsSince(due->time);
      if (!status.ok()) {
        times.error = status.reason().empty() ? std::string(StatusCodeName(status.code()))
                                              : std::string(status.reason());
      }
      {
        const std::lock_guard lock(mutex_);
        report_.calls.push_back(std::move(times));
        on_end_(report_);
      }
      if (options_.rate_hz == 0 && !WaitUntil(RetryTime(status))) return;
    }
  }

  const LoadOptions& options_;
  const LoadCall& call_;
  const std::function<void(const LoadReport&)>& on_end_;
  const std::stop_token stop_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;  // guards the rest
  std::condition_variable_any changed_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> gap_s_;
  double next_s_ = 0;
  std::int64_t count_ = 0;
  LoadReport report_;
};

}  // namespace

LoadReport RunLoad(const LoadOptions& options, const LoadCall& call,
                   const std::function<void(const LoadReport&)>& on_end,
                   const std::stop_token& stop) {
  return LoadRun(options, call, on_end, stop).Run();
}

std::string_view PriorityName(RequestPriority priority) {
  switch (priority) {
    case RequestPriority::kControl:
      return "control";
    case RequestPriority::kBackground:
      return "background";
    case RequestPriority::kNormal:
      break;
  }
  return "normal";
}

}  // namespace interlacer
