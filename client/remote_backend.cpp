#include "client/remote_backend.h"

#include <utility>

namespace interlacer {

RemoteBackend::RemoteBackend(std::unique_ptr<Client> client, const CallOptions& call)
    : client_(std::move(client)), call_(call) {}

StatusOr<std::unique_ptr<RemoteBackend>> RemoteBackend::Connect(std::unique_ptr<Client> client,
                                                                const CallOptions& call) {
  std::unique_ptr<RemoteBackend> backend(new RemoteBackend(std::move(client), call));
  INTERLACER_ASSIGN_OR_RETURN(ServerInfo info, backend->client_->GetServerInfo(call));
  backend->device_name_ = info.device;
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

}  // namespace interlacer
