#pragma once

/// Predictions for a control loop: the newest request wins, and every request gets a word.
///
/// One call is in flight and one request waits; a newer request takes the place of the waiting one.
/// Calls go out with priority kControl and end when their frames are `max_age_s` old, so that a
/// late answer costs the server nothing more. Use it with a client that does not retry.
/// The destructor ends the call in flight and the waiting request with CANCELLED and waits for
/// that. Threads: all methods may be called from several threads at once.

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "client/interlacer_client.h"

namespace interlacer {

/// kFresh: with its prediction. kSuperseded: by a newer request before it was sent. kStale: older
/// than max_age_s before there was an answer.
enum class AnswerWord { kFresh, kSuperseded, kStale };

struct LatestAnswer {
  AnswerWord word = AnswerWord::kStale;
  std::vector<PredictedStep> steps;  ///< of kFresh
  RolloutSummary summary;            ///< of kFresh
  double age_s = 0;                  ///< of the frames, when the word was known
};

class LatestOnly {
 public:
  /// `client` must outlive it. Of `options` deadline, priority and stop token are set here.
  /// INVALID_ARGUMENT ARGUMENT_INVALID for an age that is not above zero.
  static StatusOr<std::unique_ptr<LatestOnly>> Create(Client* client, double max_age_s,
                                                      const CallOptions& options);
  ~LatestOnly();
  LatestOnly(const LatestOnly&) = delete;
  LatestOnly& operator=(const LatestOnly&) = delete;

  /// Never blocks. `age_s`: how old the frames are already. The status is that of the call.
  std::future<StatusOr<LatestAnswer>> Submit(SceneInput frames, ActionSequence actions,
                                             OutputOptions output, double age_s = 0);

 private:
  using Clock = std::chrono::steady_clock;
  struct Request;

  LatestOnly(Client* client, double max_age_s, CallOptions options);
  void Run(const std::stop_token& stop);
  StatusOr<LatestAnswer> Answer(const Request& request, const std::stop_token& stop) const;

  Client* const client_;
  const double max_age_s_;
  const CallOptions options_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::unique_ptr<Request> waiting_;  // guarded
  std::jthread thread_;               // the last member: it uses the others
};

}  // namespace interlacer
