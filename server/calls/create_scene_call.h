#pragma once

/// Runs CreateScene after admission: decode, lift, keep. A call that fails leaves no scene, and its
/// place free; so does one whose client never learns the name: it has gone, or does not read the
/// answer. Threads: server/calls/scene_call.h. Errors of the lift; RESOURCE_EXHAUSTED SCENE_LIMIT
/// when the lifted scene does not fit in the memory for scenes.

#include <atomic>
#include <string>
#include <utility>

#include "server/calls/scene_call.h"

namespace interlacer {

class CreateSceneCall final : public SceneCall {
 public:
  CreateSceneCall(const ServerContext& server, CallRecord record, AdmittedScene admitted,
                  SceneStore::Place place, double time_to_live_s, ResponseSink* sink)
      : SceneCall(server, std::move(record), std::move(admitted), sink),
        place_(std::move(place)),
        time_to_live_s_(time_to_live_s) {}

  void End(Status status) override;
  void OnClientGone() override;
  void OnReset() override;

 private:
  Status OnLifted() override;
  Status RunLifted() override { return Status::Ok(); }
  void Lose();

  SceneStore::Place place_;
  const double time_to_live_s_;
  /// Of the scene; empty until it is kept.
  std::string scene_id_;
  /// The client will not hear of the scene; and the scene is there, with its name.
  std::atomic<bool> is_lost_{false}, is_kept_{false};
};

}  // namespace interlacer
