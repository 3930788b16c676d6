#include "client/kept_scene.h"

#include <utility>

namespace interlacer {
namespace {

/// A scene that is not deleted in time expires.
constexpr double kDeletionDeadlineS = 1;

/// The oldest observation goes.
void MoveOn(Observation observation, const ActionSequence& row, SceneInput* frames) {
  frames->observations.erase(frames->observations.begin());
  frames->observations.push_back(std::move(observation));
  ActionSequence& history = frames->history_actions;
  history.values.erase(history.values.begin(), history.values.begin() + history.column_count);
  history.values.insert(history.values.end(), row.values.begin(), row.values.end());
}

}  // namespace

KeptScene::KeptScene(Client* client, SceneInput frames, double time_to_live_s, CallOptions options)
    : client_(client),
      frames_(std::move(frames)),
      time_to_live_s_(time_to_live_s),
      options_(std::move(options)) {}

StatusOr<std::unique_ptr<KeptScene>> KeptScene::Create(Client* client, SceneInput frames,
                                                       double time_to_live_s,
                                                       const CallOptions& options) {
  std::unique_ptr<KeptScene> scene(
      new KeptScene(client, std::move(frames), time_to_live_s, options));
  INTERLACER_RETURN_IF_ERROR(scene->CreateAgain("", scene->frames_));
  return scene;
}

KeptScene::~KeptScene() {
  if (scene_id_.empty()) return;
  CallOptions options = options_;
  options.deadline_s = kDeletionDeadlineS;
  options.wait_for_ready = false;
  options.stop = {};
  const Status ignored = client_->DeleteScene(scene_id_, options);
}

std::string KeptScene::scene_id() const {
  const std::lock_guard lock(mutex_);
  return scene_id_;
}

Status KeptScene::CreateAgain(const std::string& lost, const SceneInput& frames) {
  const std::lock_guard lock(mutex_);
  if (scene_id_ != lost) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(CreatedScene created,
                              client_->CreateScene(frames, time_to_live_s_, options_));
  scene_id_ = std::move(created.scene_id);
  report_ = std::move(created.report);
  return Status::Ok();
}

template <typename Function>
StatusOr<RolloutSummary> KeptScene::WithScene(const Function& call) {
  const std::string id = scene_id();
  StatusOr<RolloutSummary> result = call(SceneName{id, frames_.workspace});
  if (result.status().reason() != reason::SCENE_NOT_FOUND) return result;
  INTERLACER_RETURN_IF_ERROR(CreateAgain(id, frames_));
  return call(SceneName{scene_id(), frames_.workspace});
}

StatusOr<RolloutSummary> KeptScene::PredictRollout(const ActionSequence& actions,
                                                   const OutputOptions& output,
                                                   const StepCallback& on_step,
                                                   const CallOptions& options) {
  return WithScene([&](const SceneName& scene) {
    return client_->PredictRollout(scene, actions, output, on_step, options);
  });
}

StatusOr<RolloutSummary> KeptScene::PredictCandidates(
    const std::vector<ActionSequence>& candidates, const OutputOptions& output,
    const PredictedCandidateCallback& on_candidate, const CallOptions& options) {
  return WithScene([&](const SceneName& scene) {
    return client_->PredictCandidates(scene, candidates, output, on_candidate, options);
  });
}

Status KeptScene::Update(Observation observation, const ActionSequence& row,
                         const CallOptions& options) {
  auto report = client_->UpdateScene(scene_id(), observation, row, options);
  if (report.ok()) {
    MoveOn(std::move(observation), row, &frames_);
    report_ = *std::move(report);
    return Status::Ok();
  }
  if (report.status().reason() != reason::SCENE_NOT_FOUND) return report.status();
  SceneInput next = frames_;
  MoveOn(std::move(observation), row, &next);
  INTERLACER_RETURN_IF_ERROR(CreateAgain(scene_id(), next));
  frames_ = std::move(next);
  return Status::Ok();
}

}  // namespace interlacer
