#include "server/transport/health.h"

namespace interlacer {

void Health::Attach(grpc::HealthCheckServiceInterface* service, ServerState state) {
  std::lock_guard lock(mutex_);
  service_ = service;
  Publish(state);
}

void Health::SetState(ServerState state) {
  std::lock_guard lock(mutex_);
  if (service_ != nullptr) Publish(state);
}

void Health::Publish(ServerState state) {
  const bool is_ready = state == ServerState::kServing;
  service_->SetServingStatus("", is_ready);
  service_->SetServingStatus(kHealthServiceName, is_ready);
  service_->SetServingStatus(kHealthLiveName, state != ServerState::kDeviceLost);
}

}  // namespace interlacer
