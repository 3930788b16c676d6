#include "client/remote_backend.h"

#include <algorithm>
#include <utility>

#include "client/planner/scene_source.h"

namespace interlacer {

RemoteBackend::RemoteBackend(std::unique_ptr<Client> client, const CallOptions& call)
    : client_(std::move(client)), call_(call) {}

StatusOr<std::unique_ptr<RemoteBackend>> RemoteBackend::Connect(std::unique_ptr<Client> client,
                                                                const CallOptions& call) {
  std::unique_ptr<RemoteBackend> backend(new RemoteBackend(std::move(client), call));
  INTERLACER_ASSIGN_OR_RETURN(ServerInfo info, backend->client_->GetServerInfo(call));
  backend->device_name_ = info.device;
  const auto has = [&info](const char* feature) {
    return std::find(info.features.begin(), info.features.end(), feature) != info.features.end();
  };
  backend->keeps_scenes_ = has("scenes") && has("candidates");
  INTERLACER_ASSIGN_OR_RETURN(backend->metadata_, backend->client_->GetModelMetadata(call));
  return backend;
}

StatusOr<RolloutSummary> RemoteBackend::Predict(const SceneInput& input,
                                                const ActionSequence& actions,
                                                const OutputOptions& output,
                                                const StepCallback& on_step, std::stop_token stop) {
  CallOptions call = call_;
  call.stop = std::move(stop);
  return client_->PredictRollout(input, actions, output, on_step, call);
}

StatusOr<std::unique_ptr<CandidateSource>> RemoteBackend::OpenScene(SceneInput input) {
  if (!keeps_scenes_) return RolloutBackend::OpenScene(std::move(input));
  INTERLACER_ASSIGN_OR_RETURN(
      std::unique_ptr<KeptScene> scene,
      KeptScene::Create(client_.get(), std::move(input), /*time_to_live_s=*/0, call_));
  return std::unique_ptr<CandidateSource>(
      std::make_unique<SceneSource>(std::move(scene), metadata_, call_));
}

}  // namespace interlacer
