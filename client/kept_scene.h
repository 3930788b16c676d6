#pragma once

/// A scene on a server under a name that outlives the server's memory of it: once the server has
/// lost the scene (SCENE_NOT_FOUND: expired, started again) it gets the frames again and the call
/// is repeated, once. The frames stay here for that.
///
/// The destructor deletes the scene and does not wait for long. Errors: those of the client.
/// Threads: the predictions may run together; nothing may run with Update.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/interlacer_client.h"

namespace interlacer {

class KeptScene {
 public:
  /// `client` must outlive the scene. `options` are those of calls that make the scene again; a
  /// time to live of 0 takes the server's default.
  static StatusOr<std::unique_ptr<KeptScene>> Create(Client* client, SceneInput frames,
                                                     double time_to_live_s,
                                                     const CallOptions& options);
  ~KeptScene();
  KeptScene(const KeptScene&) = delete;
  KeptScene& operator=(const KeptScene&) = delete;

  /// Of the newest frames.
  const SceneReport& report() const { return report_; }
  std::string scene_id() const;

  StatusOr<RolloutSummary> PredictRollout(const ActionSequence& actions,
                                          const OutputOptions& output, const StepCallback& on_step,
                                          const CallOptions& options);
  StatusOr<RolloutSummary> PredictCandidates(const std::vector<ActionSequence>& candidates,
                                             const OutputOptions& output,
                                             const PredictedCandidateCallback& on_candidate,
                                             const CallOptions& options);
  /// Moves on by the observation after the newest, which alone is sent. After an error the frames
  /// here are what they were.
  Status Update(Observation observation, const ActionSequence& row, const CallOptions& options);

 private:
  KeptScene(Client* client, SceneInput frames, double time_to_live_s, CallOptions options);

  /// Runs `call` with the scene's name, and again after the scene was made anew.
  template <typename Function>
  StatusOr<RolloutSummary> WithScene(const Function& call);
  /// Makes the scene anew unless another thread has done that since `lost` was its name.
  Status CreateAgain(const std::string& lost, const SceneInput& frames);

  Client* const client_;
  SceneInput frames_;
  const double time_to_live_s_;
  CallOptions options_;
  mutable std::mutex mutex_;
  std::string scene_id_;
  SceneReport report_;
};

}  // namespace interlacer
