#include "experiments/planner/outcomes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "data/dataset.h"
#include "data/simulation_truth.h"
#include "evaluation/prediction_task.h"
#include "evaluation/scene_motion.h"
#include "evaluation/tracked_particles.h"

namespace interlacer {
namespace {

constexpr int kObject = 0;
constexpr std::int64_t kSharedSteps = 2;

/// Moves of the object's particles over all views, each particle counting once.
class ObjectTracks {
 public:
  /// The arguments must outlive the tracks.
  static StatusOr<ObjectTracks> Start(const EpisodeReader& episode, const SimulationTruth& truth,
                                      const BodyMotion& motion, const PredictionTask& task,
                                      const PredictedStep& step) {
    ObjectTracks tracks;
    for (const TargetView& target : task.targets) {
      INTERLACER_ASSIGN_OR_RETURN(const std::optional<TrueFrame> newest,
                                  ReadTrueFrame(episode, task, target, 0));
      if (!newest) continue;
      INTERLACER_ASSIGN_OR_RETURN(
          TrackedParticles view,
          TrackedParticles::Start(truth, motion, task, target, *newest, step.positions_m));
      tracks.views_.push_back(std::move(view));
    }
    return tracks;
  }

  ObjectMove Move(const PredictedStep& step) const {
    ObjectMove sum;
    for (const TrackedParticles& view : views_) {
      const ObjectMove move = view.MoveOf(kObject, step.positions_m, step.step);
      const int together = sum.particle_count + move.particle_count;
      if (together == 0) continue;
      const double share = static_cast<double>(move.particle_count) / together;
      for (int axis = 0; axis < 3; ++axis) {
        sum.predicted_m[axis] += share * (move.predicted_m[axis] - sum.predicted_m[axis]);
        sum.true_m[axis] += share * (move.true_m[axis] - sum.true_m[axis]);
      }
      sum.particle_count = together;
    }
    return sum;
  }

 private:
  std::vector<TrackedParticles> views_;
};

/// Where the tools are at the end of the commanded motion, from a place on; none without a robot
/// folder.
std::vector<Vec3d> ToolsFrom(const Vec3d& place_m, const EpisodeReader& episode,
                             const PredictionTask& task) {
  const StatusOr<BodyMotion> motion = CommandedMotion(episode, task);
  if (!motion.ok()) return {};
  std::vector<Vec3d> tools_m = ToolPlaces(*motion, static_cast<int>(motion->later.size()));
  for (Vec3d& at_m : tools_m) {
    for (int axis = 0; axis < 3; ++axis) at_m[axis] -= place_m[axis];
  }
  return tools_m;
}

}  // namespace

StatusOr<std::vector<PlannedScene>> ListPlannedScenes(const std::string& dataset,
                                                      const std::string& split) {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::string> dirs, ListEpisodes(dataset, split));
  std::vector<PlannedScene> scenes;
  // A scene's own motion begins elsewhere than the others and is no candidate beside them.
  std::map<std::pair<std::string, std::vector<double>>, std::size_t> scene_of;
  for (const std::string& dir : dirs) {
    INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader reader, EpisodeReader::Open(dir));
    const EpisodeManifest& manifest = reader.manifest();
    if (!manifest.source.seed) continue;
    const std::string name = manifest.task_name + "_" + std::to_string(*manifest.source.seed);
    const NumberTable& rows = reader.actions();
    const auto shared = std::min<std::int64_t>(kSharedSteps, rows.row_count) * rows.column_count;
    const auto [at, is_new] = scene_of.emplace(
        std::pair(name, std::vector(rows.values.begin(), rows.values.begin() + shared)),
        scenes.size());
    if (is_new) scenes.push_back({name, {}});
    scenes[at->second].episode_dirs.push_back(dir);
  }
  std::erase_if(scenes, [](const PlannedScene& scene) { return scene.episode_dirs.size() < 2; });
  if (!scenes.empty()) return scenes;
  return NotFound(reason::FILE_NOT_FOUND,
                  "no scene with several motions in split \"" + split +
                      "\"; make some by: interlacer simulate --task push_block --motions 32")
      .WithField(dataset);
}

StatusOr<MotionOutcome> PredictMotion(const std::string& episode_dir, int horizon,
                                      std::int64_t seed, RolloutBackend* backend,
                                      const std::stop_token& stop) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode, EpisodeReader::Open(episode_dir));
  INTERLACER_ASSIGN_OR_RETURN(const std::optional<SimulationTruth> truth,
                              SimulationTruth::Open(episode));
  if (!truth || truth->object_names().empty()) {
    return NotFound(reason::FILE_NOT_FOUND, "no true object poses").WithField(episode_dir);
  }
  PredictionRequest request;
  request.step_count = horizon;
  request.seed = seed;
  INTERLACER_ASSIGN_OR_RETURN(PredictionTask task,
                              MakePredictionTask(episode, backend->metadata(), request));
  task.output.render_targets.clear();
  task.output.steps = {0, horizon};
  task.output.include_colors = false;

  INTERLACER_ASSIGN_OR_RETURN(const BodyMotion motion, TrueMotion(episode, task, *truth));
  std::optional<ObjectTracks> tracks;
  ObjectMove move;
  const auto on_step = [&](const PredictedStep& step) -> Status {
    if (step.step == 0) {
      INTERLACER_ASSIGN_OR_RETURN(tracks, ObjectTracks::Start(episode, *truth, motion, task, step));
    }
    if (step.step == horizon && tracks) move = tracks->Move(step);
    return Status::Ok();
  };
  INTERLACER_RETURN_IF_ERROR(
      backend->Predict(task.input, task.actions, task.output, on_step, stop).status());
  return MotionOutcome{
      episode.manifest().episode_id, move.predicted_m, move.true_m, move.particle_count,
      ToolsFrom(truth->WorldFromObject(task.start_step, kObject).translation_m, episode, task)};
}

}  // namespace interlacer
