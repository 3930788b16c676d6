#pragma once

/// A CandidateSource over several others, such as servers with the same weights: each takes some of
/// the candidates that are left as soon as it is free.
///
/// A source that becomes UNAVAILABLE takes no more part in that call; others take over what it has
/// not finished, so that nothing is lost while one is there. Any other error ends the call.
/// Make checks that all have the same weights; on unlike devices their outcomes differ as those of
/// the model do. Errors: those of the sources; UNAVAILABLE of the last of them if none is left.
/// Threads: sources are called on threads of the call's own, `on_candidate` on the calling thread.

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
  /// If each gets an equal share.
  double CostS(int candidate_count, int step_count) const override;

 private:
  explicit FanOutSource(std::vector<std::unique_ptr<CandidateSource>> sources)
      : sources_(std::move(sources)) {}

  const std::vector<std::unique_ptr<CandidateSource>> sources_;
};

}  // namespace interlacer
