#include "client/planner/fan_out_source.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace interlacer {
namespace {

/// Of what is left, a free source takes this share divided by the number of sources: late shares
/// are small, so that sources end together.
constexpr int kSharesLeft = 2;
/// Of a source that was unavailable; doubled with each further failure, so many times.
constexpr std::chrono::seconds kFirstRest(5);
constexpr int kMostDoublings = 4;

/// Candidates that wait, outcomes that wait for the caller, and how the sources fare.
class Board {
 public:
  /// Of `source_count` sources `active_count` begin at once.
  Board(int candidate_count, int active_count, int source_count)
      : waiting_(static_cast<std::size_t>(candidate_count)),
        unfinished_(candidate_count),
        active_(active_count),
        working_(source_count),
        source_count_(active_count) {
    std::iota(waiting_.begin(), waiting_.end(), 0);
  }

  /// Waits until every active source has left candidates behind, or the call is over: then false.
  bool AwaitNeed() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || unfinished_ == 0 || active_ == 0; });
    return !ended_ && unfinished_ > 0;
  }

  /// The next candidates of a source; nothing when all are finished or the call has ended. Waits
  /// while others may still give some back.
  std::vector<int> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || unfinished_ == 0 || !waiting_.empty(); });
    if (ended_ || unfinished_ == 0) return {};
    const auto left = static_cast<int>(waiting_.size());
    const int count = std::max(1, left / (kSharesLeft * source_count_));
    std::vector<int> taken(waiting_.begin(), waiting_.begin() + count);
    waiting_.erase(waiting_.begin(), waiting_.begin() + count);
    return taken;
  }

  void Post(CandidateOutcome outcome) {
    const std::lock_guard lock(mutex_);
    --unfinished_;
    outcomes_.push_back(std::move(outcome));
    changed_.notify_all();
  }

  /// A source left; `back` is what it took and did not finish.
  void Leave(const Status& status, const std::vector<int>& back, bool was_active) {
    const std::lock_guard lock(mutex_);
    --working_;
    if (was_active) --active_;
    waiting_.insert(waiting_.begin(), back.begin(), back.end());
    // What sources say once the call has ended is its echo.
    const bool counts =
        status.code() != StatusCode::kUnavailable || (working_ == 0 && unfinished_ > 0);
    if (!status.ok() && counts && error_.ok() && !ended_) error_ = status;
    changed_.notify_all();
  }

  /// The next outcome for the caller, or nothing at the end.
  std::optional<CandidateOutcome> Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !outcomes_.empty() || !error_.ok() || working_ == 0; });
    if (outcomes_.empty() || !error_.ok()) return std::nullopt;
    CandidateOutcome outcome = std::move(outcomes_.front());
    outcomes_.pop_front();
    return outcome;
  }

  void End() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  Status error() {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> waiting_;
  std::deque<CandidateOutcome> outcomes_;
  int unfinished_;
  int active_;
  int working_;
  const int source_count_;
  bool ended_ = false;
  Status error_;
};

/// How a source's part in a call ended, and what it took and did not finish.
struct Part {
  Status status;
  std::vector<int> open;
  bool has_answered = false;
};

Part Answer(CandidateSource* source, std::span<const PlanRows> candidates,
            const OutputOptions& output, const std::stop_token& stop, Board* board) {
  Part part;
  while (true) {
    const std::vector<int> taken = board->Take();
    if (taken.empty()) return part;
    std::vector<PlanRows> rows;
    for (const int index : taken) rows.push_back(candidates[static_cast<std::size_t>(index)]);
    part.open = taken;
    part.status = source->Predict(
        rows, output,
        [&](CandidateOutcome outcome) -> Status {
          if (outcome.index < 0 || outcome.index >= static_cast<int>(taken.size())) {
            return Internal("a source answered candidate " + std::to_string(outcome.index) +
                            " of " + std::to_string(taken.size()));
          }
          outcome.index = taken[static_cast<std::size_t>(outcome.index)];
          std::erase(part.open, outcome.index);
          part.has_answered = true;
          board->Post(std::move(outcome));
          return Status::Ok();
        },
        stop);
    if (!part.status.ok()) return part;
    if (!part.open.empty()) {
      part.status = Internal("a source left out candidate " + std::to_string(part.open.front()));
      part.open.clear();
      return part;
    }
  }
}

/// On a thread of its own, which nothing may be thrown out of.
Part Work(CandidateSource* source, std::span<const PlanRows> candidates,
          const OutputOptions& output, const std::stop_token& stop, bool is_resting, Board* board) {
  Part part;
  try {
    if (!is_resting || board->AwaitNeed()) {
      part = Answer(source, candidates, output, stop, board);
    }
  } catch (const std::exception& error) {
    part.status = Internal(std::string("a source of candidates: ") + error.what());
    part.open.clear();
  }
  board->Leave(part.status, part.open, !is_resting);
  return part;
}

}  // namespace

StatusOr<std::unique_ptr<FanOutSource>> FanOutSource::Make(
    std::vector<std::unique_ptr<CandidateSource>> sources) {
  if (sources.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "sources", "one or more", "none");
  }
  const ModelMetadata& first = sources.front()->metadata();
  for (std::size_t i = 1; i < sources.size(); ++i) {
    const ModelMetadata& other = sources[i]->metadata();
    if (other.weights_sha256 == first.weights_sha256 &&
        other.config_sha256 == first.config_sha256) {
      continue;
    }
    const std::string field = "sources[" + std::to_string(i) + "]";
    return Mismatch(reason::ARGUMENT_INVALID, field,
                    "the first source's model, weights " + first.weights_sha256 +
                        " and configuration " + first.config_sha256,
                    other.weights_sha256 + " and " + other.config_sha256);
  }
  return std::unique_ptr<FanOutSource>(new FanOutSource(std::move(sources)));
}

Status FanOutSource::Predict(std::span<const PlanRows> candidates, const OutputOptions& output,
                             const CandidateCallback& on_candidate, const std::stop_token& stop) {
  const Clock::time_point start = Clock::now();
  const std::vector<bool> resting = Resting();
  const auto source_count = static_cast<int>(sources_.size());
  Board board(static_cast<int>(candidates.size()),
              source_count - static_cast<int>(std::count(resting.begin(), resting.end(), true)),
              source_count);
  std::vector<Part> parts(sources_.size());
  std::stop_source ended;
  const std::stop_callback pass_on(stop, [&] { ended.request_stop(); });
  Status refused;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      threads.emplace_back([&, i] {
        parts[i] =
            Work(sources_[i].get(), candidates, output, ended.get_token(), resting[i], &board);
      });
    }
    while (refused.ok()) {
      std::optional<CandidateOutcome> outcome = board.Next();
      if (!outcome) break;
      refused = on_candidate(*std::move(outcome));
    }
    board.End();
    ended.request_stop();
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].has_answered) rests_[i] = {};
    // Who was asked in its rest, since nobody else was there, has not failed once more.
    if (parts[i].status.code() != StatusCode::kUnavailable || start < rests_[i].end) continue;
    rests_[i].end =
        Clock::now() + kFirstRest * (1 << std::min(rests_[i].failures++, kMostDoublings));
  }
  return refused.ok() ? board.error() : refused;
}

std::vector<bool> FanOutSource::Resting() const {
  const Clock::time_point now = Clock::now();
  std::vector<bool> resting;
  for (const Rest& rest : rests_) resting.push_back(now < rest.end);
  // Without anybody else all are asked.
  if (std::count(resting.begin(), resting.end(), false) == 0) resting.assign(resting.size(), false);
  return resting;
}

double FanOutSource::CostS(int candidate_count, int step_count) const {
  const std::vector<bool> resting = Resting();
  const auto count = static_cast<int>(std::count(resting.begin(), resting.end(), false));
  const int share = (candidate_count + count - 1) / count;
  double cost_s = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (!resting[i]) cost_s = std::max(cost_s, sources_[i]->CostS(share, step_count));
  }
  return cost_s;
}

}  // namespace interlacer
