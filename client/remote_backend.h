#pragma once

/// A RolloutBackend that predicts on a server. Connect asks once for the model's metadata; Predict
/// sends one PredictRollout with the given call options. Contract, errors, threads:
/// client/rollout_backend.h.

#include <memory>
#include <string>

#include "client/interlacer_client.h"
#include "client/rollout_backend.h"

namespace interlacer {

class RemoteBackend : public RolloutBackend {
 public:
  /// `call` is used for every call; its stop token is replaced by that of Predict.
  static StatusOr<std::unique_ptr<RemoteBackend>> Connect(std::unique_ptr<Client> client,
                                                          const CallOptions& call);

  const ModelMetadata& metadata() const override { return metadata_; }
  const std::string& device_name() const override { return device_name_; }
  const std::string& location() const override { return location_; }
  StatusOr<RolloutSummary> Predict(const SceneInput& input, const ActionSequence& actions,
                                   const OutputOptions& output, const StepCallback& on_step,
                                   std::stop_token stop) override;
  /// Keeps the scene on the server, if that can (client/planner/scene_source.h).
  StatusOr<std::unique_ptr<CandidateSource>> OpenScene(SceneInput input) override;

 private:
  RemoteBackend(std::unique_ptr<Client> client, const CallOptions& call);

  std::unique_ptr<Client> client_;
  CallOptions call_;
  ModelMetadata metadata_;
  std::string device_name_;
  std::string location_ = "remote";
  /// Whether the server has PredictCandidates and scenes.
  bool keeps_scenes_ = false;
};

}  // namespace interlacer
