#include "server/server_state.h"

namespace interlacer {

const char* ServerStateName(ServerState state) {
  switch (state) {
    case ServerState::kStarting:
      return "starting";
    case ServerState::kWarmingUp:
      return "warming_up";
    case ServerState::kServing:
      return "serving";
    case ServerState::kDraining:
      return "draining";
    case ServerState::kDeviceLost:
      return "device_lost";
  }
  return "unknown";
}

ServerState ServerStateMachine::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

bool ServerStateMachine::Advance(ServerState next) {
  std::lock_guard lock(mutex_);
  if (next <= state_) return false;
  state_ = next;
  on_change_(next);
  return true;
}

Status ServerStateMachine::CheckAccepting() const {
  switch (state()) {
    case ServerState::kServing:
      return Status::Ok();
    case ServerState::kStarting:
    case ServerState::kWarmingUp:
      return Unavailable(reason::MODEL_LOADING, "models load; try again later");
    case ServerState::kDraining:
      return Unavailable(reason::DRAINING, "the server is stopping");
    case ServerState::kDeviceLost:
      return Status(StatusCode::kInternal, reason::DEVICE_LOST, "the device failed");
  }
  return Status::Ok();
}

}  // namespace interlacer
