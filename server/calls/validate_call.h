#pragma once

/// Runs ValidateScene after admission: decode, lift, report. Threads: server/calls/scene_call.h.

#include "server/calls/scene_call.h"

namespace interlacer {

class ValidateCall final : public SceneCall {
 public:
  using SceneCall::SceneCall;

 private:
  Status OnLifted() override;
  Status RunLifted() override { return Status::Ok(); }
};

}  // namespace interlacer
