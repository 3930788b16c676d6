#include "server/handlers/get_server_info.h"

#include <string>

#include "common/version.h"
#include "server/build_id.h"
#include "server/convert/metadata.h"

namespace interlacer {
namespace {

wire::ServerState ToWire(ServerState state) {
  switch (state) {
    case ServerState::kStarting:
      return wire::SERVER_STATE_STARTING;
    case ServerState::kWarmingUp:
      return wire::SERVER_STATE_WARMING_UP;
    case ServerState::kServing:
      return wire::SERVER_STATE_SERVING;
    case ServerState::kDraining:
      return wire::SERVER_STATE_DRAINING;
    case ServerState::kDeviceLost:
      return wire::SERVER_STATE_DEVICE_LOST;
  }
  return wire::SERVER_STATE_UNSPECIFIED;
}

wire::ModelState ToWire(ModelState state) {
  switch (state) {
    case ModelState::kLoading:
      return wire::MODEL_STATE_LOADING;
    case ModelState::kReady:
      return wire::MODEL_STATE_READY;
    case ModelState::kFailed:
      return wire::MODEL_STATE_FAILED;
  }
  return wire::MODEL_STATE_UNSPECIFIED;
}

}  // namespace

wire::GetServerInfoResponse GetServerInfo(const ServerContext& server) {
  wire::GetServerInfoResponse response;
  response.set_server_version(kVersion);
  response.set_build_id(kBuildId);
  response.set_instance_id(server.instance_id);
  response.set_state(ToWire(server.state.state()));
  for (const ModelLoadStatus& model : server.models.Statuses()) {
    wire::ModelStatus* entry = response.add_models();
    entry->set_model_name(model.model_name);
    entry->set_state(ToWire(model.state));
    entry->set_failure_message(model.failure_message);
  }
  if (const ServedModel* model = server.models.FirstReady()) {
    const std::string& device = model->predictor->device_name();
    response.set_device(device);
    response.set_is_device_fallback(model->predictor->is_device_fallback());
    response.add_features("renderer");
    if (model->metadata.accepts_joint_positions) response.add_features("forward_kinematics");
    if (device.starts_with("cuda")) response.add_features("cuda");
  }
  response.add_features("png");
  response.add_features("jpeg");
  for (const char* method_group : {"scenes", "scene_update", "candidates", "statistics"}) {
    response.add_features(method_group);
  }
  ToWire(server.limits, response.mutable_limits());
  return response;
}

}  // namespace interlacer
