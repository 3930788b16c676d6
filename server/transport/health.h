#pragma once

/// Reports the state of the server by grpc.health.v1: "" and the service name are SERVING only
/// while predictions are accepted; "live" is SERVING until the device fails. Thread-safe.

#include <grpcpp/health_check_service_interface.h>

#include <mutex>

#include "server/server_state.h"

namespace interlacer {

inline constexpr char kHealthServiceName[] = "interlacer.v1.InterlacerService";
inline constexpr char kHealthLiveName[] = "live";

class Health {
 public:
  /// From now on `service`, which must outlive the last SetState, reflects the state.
  void Attach(grpc::HealthCheckServiceInterface* service, ServerState state);
  void SetState(ServerState state);

 private:
  void Publish(ServerState state);

  std::mutex mutex_;
  grpc::HealthCheckServiceInterface* service_ = nullptr;
};

}  // namespace interlacer
