#include "evaluation/episode_run.h"

#include <algorithm>
#include <cstdio>

#include "common/file_io.h"
#include "common/image_codec.h"
#include "evaluation/baselines.h"
#include "evaluation/episode_evaluation.h"
#include "evaluation/scene_recorder.h"

namespace interlacer {
namespace {

namespace fs = std::filesystem;

Status MakeFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return Status::Ok();
  return FailedPrecondition(reason::FILE_UNWRITABLE, error.message()).WithField(folder.string());
}

class EpisodeRun {
 public:
  EpisodeRun(const EpisodeReader& episode, const EpisodeRunOptions& options,
             RolloutBackend* backend, const std::stop_token& stop)
      : episode_(episode), options_(options), backend_(backend), stop_(stop) {}

  Status Run() {
    if (backend_ != nullptr) {
      metadata_ = backend_->metadata();
    } else {
      INTERLACER_ASSIGN_OR_RETURN(
          metadata_, MetadataWithoutModel(episode_.manifest(), options_.plan.input_cameras));
    }
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<PredictionRequest> requests,
                                PlanEpisode(episode_.manifest(), metadata_, options_.plan));
    for (const PredictionRequest& request : requests) {
      const bool is_kept = !options_.frames_dir.empty() && &request == &requests.front();
      INTERLACER_RETURN_IF_ERROR(RunPrediction(request, is_kept));
    }
    return Status::Ok();
  }

  Status AddTo(Results* results) const {
    const EpisodeManifest& manifest = episode_.manifest();
    INTERLACER_ASSIGN_OR_RETURN(const std::string sha256, episode_.ManifestSha256());
    results->values.insert(results->values.end(), values_.begin(), values_.end());
    results->timings.insert(results->timings.end(), timings_.begin(), timings_.end());
    results->particles.insert(results->particles.end(), particles_.begin(), particles_.end());
    for (const auto& [finding, count] : warnings_) results->warnings[finding] += count;
    results->episodes.push_back({manifest.episode_id, sha256, manifest.task_name});
    return Status::Ok();
  }

 private:
  Status RunPrediction(const PredictionRequest& request, bool keeps_particles) {
    INTERLACER_ASSIGN_OR_RETURN(PredictionTask task,
                                MakePredictionTask(episode_, metadata_, request));
    if (options_.alter) INTERLACER_RETURN_IF_ERROR(options_.alter(&task));
    SceneRecorder scene;
    const auto on_step = [&](const PredictedStep& step, std::vector<EvaluatedView>& views) {
      if (keeps_particles) scene.Add(step);
      for (EvaluatedView& view : views) {
        AddScores(task.start_step, view);
        INTERLACER_RETURN_IF_ERROR(WriteFrames(task.start_step, view));
        view.pictures.clear();
      }
      return Status::Ok();
    };
    INTERLACER_ASSIGN_OR_RETURN(
        const EpisodeEvaluation evaluation,
        EvaluateEpisode(episode_, task, metadata_, backend_, on_step, stop_));
    INTERLACER_RETURN_IF_ERROR(AddCensuses(task.start_step, evaluation));
    if (keeps_particles) {
      INTERLACER_RETURN_IF_ERROR(
          WriteScene(task.start_step, scene.Finish(task, metadata_, evaluation)));
    }
    if (backend_ == nullptr) return Status::Ok();
    const RolloutSummary& summary = evaluation.summary;
    timings_.push_back({summary.durations.lift_s,
                        summary.durations.dynamics_s / std::max(1, summary.computed_step_count),
                        summary.durations.render_s / static_cast<double>(std::max<std::size_t>(
                                                         1, evaluation.views.size()))});
    for (const Finding& finding : summary.findings) ++warnings_[finding.reason];
    if (!summary.scene_report) return Status::Ok();
    for (const Finding& f : summary.scene_report->findings) ++warnings_[f.reason];
    return Status::Ok();
  }

  void AddScores(int start_step, const EvaluatedView& view) {
    for (const ViewScore& score : view.scores) {
      values_.push_back({score.subject, episode_.manifest().episode_id, start_step, view.camera,
                         view.is_input, view.step, score.metric, score.value, score.reason});
    }
  }

  Status AddCensuses(int start_step, const EpisodeEvaluation& evaluation) {
    const std::string& id = episode_.manifest().episode_id;
    for (const auto& [camera, census] : evaluation.censuses) {
      particles_.push_back({id, start_step, camera, census.CountOf(ParticleKind::kMoved),
                            census.CountOf(ParticleKind::kStatic),
                            census.CountOf(ParticleKind::kRobot),
                            census.CountOf(ParticleKind::kUntracked), census.moved_objects});
      if (options_.frames_dir.empty()) continue;
      const fs::path folder =
          FramePath(options_.frames_dir, id, start_step, camera, 0, "truth").parent_path();
      INTERLACER_RETURN_IF_ERROR(
          WriteFileAtomic((folder / kParticleKindsFile).string(), census.KindsAsNpy()));
    }
    return Status::Ok();
  }

  Status WriteFrames(int start_step, const EvaluatedView& view) const {
    if (options_.frames_dir.empty() || !view.truth) return Status::Ok();
    const auto path = [&](const std::string& subject) {
      return FramePath(options_.frames_dir, episode_.manifest().episode_id, start_step, view.camera,
                       view.step, subject);
    };
    INTERLACER_RETURN_IF_ERROR(MakeFolder(path("truth").parent_path()));
    INTERLACER_RETURN_IF_ERROR(WritePngFile(*view.truth, path("truth").string()));
    for (const auto& [subject, picture] : view.pictures) {
      INTERLACER_RETURN_IF_ERROR(WritePngFile(picture, path(subject).string()));
    }
    return Status::Ok();
  }

  Status WriteScene(int start_step, const SceneView& scene) const {
    const std::string data = SceneViewData(scene);
    if (data.empty()) return Status::Ok();
    const fs::path path =
        ScenePath(options_.frames_dir, episode_.manifest().episode_id, start_step);
    INTERLACER_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
    return WriteFileAtomic(path.string(), data);
  }

  const EpisodeReader& episode_;
  const EpisodeRunOptions& options_;
  RolloutBackend* const backend_;  ///< null: subjects that need no model
  const std::stop_token& stop_;
  ModelMetadata metadata_;
  std::vector<ResultValue> values_;
  std::vector<ResultTiming> timings_;
  std::vector<ResultParticles> particles_;
  std::map<std::string, int> warnings_;
};

}  // namespace

Status RunEpisode(const EpisodeReader& episode, const EpisodeRunOptions& options,
                  RolloutBackend* backend, Results* results, const std::stop_token& stop) {
  EpisodeRun run(episode, options, backend, stop);
  INTERLACER_RETURN_IF_ERROR(run.Run());
  return run.AddTo(results);
}

fs::path ScenePath(const std::string& frames_dir, const std::string& episode, int start_step) {
  char start[32];
  std::snprintf(start, sizeof start, "start_%06d", start_step);
  return fs::path(frames_dir) / episode / start / "scene.json";
}

fs::path FramePath(const std::string& frames_dir, const std::string& episode, int start_step,
                   const std::string& camera, int step, const std::string& subject) {
  char name[64];
  std::snprintf(name, sizeof name, "step_%03d_%s.png", step, subject.c_str());
  return ScenePath(frames_dir, episode, start_step).parent_path() / camera / name;
}

}  // namespace interlacer
