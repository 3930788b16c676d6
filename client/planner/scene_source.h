#pragma once

/// A CandidateSource over a scene that a server keeps: all candidates in one call, each as soon as
/// it is finished; the frames are sent once. Errors, threads: client/kept_scene.h.

#include <memory>
#include <stop_token>

#include "client/kept_scene.h"
#include "client/planner/candidate_source.h"

namespace interlacer {

class SceneSource final : public CandidateSource {
 public:
  /// `options` are those of every call; without a deadline it is kStreamDeadlineS, or three times
  /// the published cost of the candidates where that is more.
  SceneSource(std::unique_ptr<KeptScene> scene, ModelMetadata metadata, CallOptions options);

  const ModelMetadata& metadata() const override { return metadata_; }
  Status Predict(std::span<const PlanRows> candidates, const OutputOptions& output,
                 const CandidateCallback& on_candidate, const std::stop_token& stop) override;
  double CostS(int candidate_count, int step_count) const override;

 private:
  const std::unique_ptr<KeptScene> scene_;
  const ModelMetadata metadata_;
  const CallOptions options_;
};

}  // namespace interlacer
