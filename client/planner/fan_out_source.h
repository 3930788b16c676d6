#pragma once

/// A CandidateSource over several others, such as servers with the same weights: each takes some of
/// the candidates that are left as soon as it is free.
///
/// A source that becomes UNAVAILABLE takes no more part in that call; others take over what it has
/// not finished, so that nothing is lost while one is there. In later calls it rests, so that they
/// do not wait for it, for 5 s after the first failure and for twice as long after each further one
/// up to 80 s; a call that would fail without it asks it all the same. Any other error ends the
/// call.
/// Make checks that all have the same weights; on unlike devices their outcomes differ as those of
/// the model do. Errors: those of the sources; UNAVAILABLE of the last of them if none is left.
/// Threads: sources are called on threads of the call's own, `on_candidate` on the calling thread.

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "client/planner/candidate_source.h"

namespace interlacer {

class FanOutSource final : public CandidateSource {
 public:
  /// INVALID_ARGUMENT ARGUMENT_INVALID at "sources" without any, and at "sources[i]" where weights
  /// or configuration are not the first one's.
  static StatusOr<std::unique_ptr<FanOutSource>> Make(
      std::vector<std::unique_ptr<CandidateSource>> sources);

  /// Of the first source.
  const ModelMetadata& metadata() const override { return sources_.front()->metadata(); }
  Status Predict(std::span<const PlanRows> candidates, const OutputOptions& output,
                 const CandidateCallback& on_candidate, const std::stop_token& stop) override;
  /// If each that does not rest gets an equal share.
  double CostS(int candidate_count, int step_count) const override;

 private:
  using Clock = std::chrono::steady_clock;

  /// Of a source that was unavailable.
  struct Rest {
    int failures = 0;  ///< since its last answer
    Clock::time_point end;
  };

  explicit FanOutSource(std::vector<std::unique_ptr<CandidateSource>> sources)
      : sources_(std::move(sources)), rests_(sources_.size()) {}
  std::vector<bool> Resting() const;

  const std::vector<std::unique_ptr<CandidateSource>> sources_;
  std::vector<Rest> rests_;
};

}  // namespace interlacer
