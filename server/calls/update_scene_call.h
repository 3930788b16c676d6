#pragma once

/// Runs UpdateScene after admission: decodes the new observation, lifts it with the newest one of
/// the scene, and puts the result in the scene's place. A call that fails leaves the scene as it
/// was. Threads: server/calls/scene_call.h. Errors: those of the lift, at `observation`;
/// SceneStore::Replace.

#include <string>
#include <utility>

#include "server/calls/scene_call.h"

namespace interlacer {

class UpdateSceneCall final : public SceneCall {
 public:
  UpdateSceneCall(const ServerContext& server, CallRecord record, AdmittedScene admitted,
                  std::string scene_id, SceneLease before, ResponseSink* sink)
      : SceneCall(server, std::move(record), std::move(admitted), sink),
        scene_id_(std::move(scene_id)),
        before_(std::move(before)) {}

  void End(Status status) override;

 private:
  void CompleteWindow(SceneInput* decoded) const override;
  StatusOr<std::shared_ptr<const Scene>> LiftWindow(const SceneInput& decoded) const override {
    return predictor()->LiftNext(decoded, *before_->scene);
  }
  /// The older frames are not encoded again.
  bool LiftsAll() const override { return false; }
  std::string RequestField(const std::string& field) const override;
  std::string MessageField(const std::string& field) const override;
  Status OnLifted() override;
  Status RunLifted() override { return Status::Ok(); }

  const std::string scene_id_;
  /// Until the end, or until gRPC releases a call that failed, whose decoder may outlast its end.
  SceneLease before_;
};

}  // namespace interlacer
