#pragma once

/// State machine of the server, which decides whether new predictions are accepted. Thread-safe.
///
///   kStarting -> kWarmingUp -> kServing -> kDraining;  kDeviceLost is final and beats the others.

#include <functional>
#include <mutex>
#include <utility>

#include "common/status.h"

namespace interlacer {

enum class ServerState { kStarting, kWarmingUp, kServing, kDraining, kDeviceLost };

const char* ServerStateName(ServerState state);

class ServerStateMachine {
 public:
  /// `on_change` runs under the machine's lock, so that observers see the states in order.
  explicit ServerStateMachine(std::function<void(ServerState)> on_change)
      : on_change_(std::move(on_change)) {}

  ServerState state() const;
  /// Moves forward only: returns false and does nothing when `next` is not after the present state.
  bool Advance(ServerState next);
  /// OK while serving; else UNAVAILABLE MODEL_LOADING or DRAINING, INTERNAL DEVICE_LOST.
  Status CheckAccepting() const;

 private:
  const std::function<void(ServerState)> on_change_;
  mutable std::mutex mutex_;
  ServerState state_ = ServerState::kStarting;
};

}  // namespace interlacer
