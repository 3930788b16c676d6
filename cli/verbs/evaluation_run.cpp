#include "cli/verbs/evaluation_run.h"

#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "cli/describe.h"
#include "common/file_io.h"
#include "common/json.h"
#include "common/version.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "evaluation/baselines.h"
#include "evaluation/resumption.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"
#include "robots/robot.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

/// The first episode that can be read; the run says which cannot.
std::optional<EpisodeReader> FirstReadable(const std::vector<std::string>& episode_dirs) {
  for (const std::string& dir : episode_dirs) {
    StatusOr<EpisodeReader> recording = EpisodeReader::Open(dir);
    if (recording.ok()) return recording->AsStaticViews();
  }
  return std::nullopt;
}

/// What of the head model and pictures decide, the latter by their first camera.
Status DescribePictures(const EvaluateOptions& options, const RolloutBackend* backend,
                        const std::optional<EpisodeReader>& first, Results* results) {
  if (backend == nullptr && !first) return Status::Ok();
  ModelMetadata metadata;
  if (backend != nullptr) {
    metadata = backend->metadata();
  } else {
    INTERLACER_ASSIGN_OR_RETURN(
        metadata, MetadataWithoutModel(first->manifest(), options.plan.input_cameras));
  }
  results->step_duration_s = metadata.step_duration_s;
  const EpisodeCamera recorded = first ? first->manifest().cameras.front() : EpisodeCamera();
  std::tie(results->image_width_px, results->image_height_px) =
      SizeOf(options.plan.picture_size, metadata.cameras[0], recorded);
  return Status::Ok();
}

StatusOr<Results> HeadOf(const EvaluateOptions& options, const RolloutBackend* backend,
                         const std::vector<std::string>& episode_dirs, const VerbContext& context) {
  Results results;
  results.tool_version = kVersion;
  results.command = context.command_line();
  results.created_time = CurrentTimeRfc3339();
  results.split = options.split;
  results.step_count = options.plan.step_count;
  results.target_background = options.background;
  results.seed = options.plan.seed;
  results.measures_spread = options.plan.measures_spread;
  if (options.plan.robot) results.robot_sha256 = options.plan.robot->sha256;
  results.render_mode = options.plan.render_mode == RenderMode::kField ? "field" : "observed";
  results.subjects = options.plan.subjects;
  results.plan = {options.plan.window_count, options.plan.start_step, options.plan.input_cameras,
                  options.plan.target_cameras};
  INTERLACER_RETURN_IF_ERROR(
      DescribePictures(options, backend, FirstReadable(episode_dirs), &results));
  results.device = backend == nullptr ? "cpu" : backend->device_name();
  results.location = backend == nullptr ? "none" : backend->location();
  results.model = backend == nullptr ? nlohmann::ordered_json{{"name", "none"}}
                                     : nlohmann::ordered_json(ToJson(backend->metadata()));
  return results;
}

/// Errors that the next episode would meet too.
bool IsFatal(const Status& status) {
  switch (status.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kInternal:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace

StatusOr<Results> StartResults(const EvaluateOptions& options, const RolloutBackend* backend,
                               const std::vector<std::string>& episode_dirs,
                               const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(Results head, HeadOf(options, backend, episode_dirs, context));
  std::error_code error;
  if (fs::is_directory(options.dataset, error) &&
      fs::exists(fs::path(options.dataset) / kDatasetFile, error)) {
    INTERLACER_ASSIGN_OR_RETURN(const Dataset dataset, ReadDataset(options.dataset));
    head.dataset_name = dataset.name;
    INTERLACER_ASSIGN_OR_RETURN(head.dataset_sha256, DatasetSha256(options.dataset));
  } else {
    head.dataset_name = fs::path(options.dataset).lexically_normal().filename().string();
  }
  const fs::path file = fs::path(options.output) / kResultsFile;
  if (!options.resume || !fs::exists(file, error)) return head;
  INTERLACER_ASSIGN_OR_RETURN(Results before, ReadResults(file.string()));
  INTERLACER_RETURN_IF_ERROR(CheckResumable(before, head));
  before.metrics.update(head.metrics);
  return before;
}

Status WriteScores(const fs::path& folder, const Results& results, Aggregation aggregation) {
  INTERLACER_RETURN_IF_ERROR(WriteResults((folder / kResultsFile).string(), results, aggregation));
  return WriteFileAtomic((folder / "per_step.csv").string(), ResultsToCsv(results));
}

Status CheckSameRecording(const ResultEpisode& done, const EpisodeReader& recording,
                          const std::string& dir) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string sha256, recording.ManifestSha256());
  if (sha256 == done.manifest_sha256) return Status::Ok();
  return FailedPrecondition(reason::HASH_MISMATCH,
                            done.id + " was evaluated with another manifest: expected " +
                                done.manifest_sha256 + ", got " + sha256)
      .WithField(dir);
}

const ResultEpisode* FindEpisode(const Results& results, const std::string& id) {
  for (const ResultEpisode& episode : results.episodes) {
    if (episode.id == id) return &episode;
  }
  return nullptr;
}

EvaluationRun::EvaluationRun(const EvaluateOptions& options, RolloutBackend* backend,
                             Results results, const VerbContext& context)
    : options_(options),
      backend_(backend),
      results_(std::move(results)),
      context_(context),
      earlier_duration_s_(results_.duration_s) {}

Status EvaluationRun::Run(const std::vector<std::string>& episode_dirs) {
  std::unique_ptr<Progress> progress =
      context_.MakeProgress("evaluate", static_cast<std::int64_t>(episode_dirs.size()));
  // Saves at once, so that a run which is killed leaves a folder that --force may replace.
  INTERLACER_RETURN_IF_ERROR(Save());
  std::int64_t done = 0;
  for (const std::string& dir : episode_dirs) {
    if (context_.stop().stop_requested()) return Cancelled("stopped; --resume goes on");
    const std::size_t known = results_.episodes.size();
    const std::string name = fs::path(dir).lexically_normal().filename().string();
    std::string id = name;
    const Status status = RunEpisodeAt(dir, &id);
    if (status.code() == StatusCode::kCancelled) return status;
    if (IsFatal(status)) return status;
    RecordOutcome(name, id, status);
    INTERLACER_RETURN_IF_ERROR(Save());
    ++done;
    if (status.ok() && results_.episodes.size() == known) {
      progress->Found(done);
    } else {
      progress->Update(done, NoteText());
    }
  }
  return Save(Aggregation::kAll);
}

Status EvaluationRun::RunEpisodeAt(const std::string& dir, std::string* id) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader recording, EpisodeReader::Open(dir));
  *id = recording.manifest().episode_id;
  if (const ResultEpisode* done = FindEpisode(results_, *id)) {
    return CheckSameRecording(*done, recording, dir);
  }
  const EpisodeReader episode = recording.AsStaticViews();
  EpisodeRunOptions run;
  run.plan = options_.plan;
  if (!options_.no_frames) run.frames_dir = (fs::path(options_.output) / "frames").string();
  return RunEpisode(episode, run, backend_, &results_, context_.stop());
}

/// Records the outcome of the last attempt; an earlier failure is removed, also one of when the
/// episode could not be read, which is listed under the folder's name.
void EvaluationRun::RecordOutcome(const std::string& name, const std::string& id,
                                  const Status& status) {
  std::erase_if(results_.failures, [&](const ResultFailure& failure) {
    return failure.episode == id || failure.episode == name;
  });
  if (status.ok()) return;
  context_.Message(id + ": " + status.ToString());
  results_.failures.push_back({id, status.reason(), status.message()});
}

Status EvaluationRun::Save(Aggregation aggregation) {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  results_.duration_s = earlier_duration_s_ + elapsed.count();
  return WriteScores(options_.output, results_, aggregation);
}

std::string EvaluationRun::NoteText() const {
  const auto last_step = static_cast<int>(options_.plan.step_count);
  std::string text;
  for (const std::string_view subject : {kModelSubject, kKinematicSubject}) {
    const auto means = EpisodeMeans(results_, {subject, kSsim, last_step, "", {}});
    if (means.empty()) continue;
    double sum = 0;
    for (const auto& [episode, mean] : means) sum += mean;
    text +=
        Format("%s%s %.4f", text.empty() ? Format("SSIM at step %d: ", last_step).c_str() : ", ",
               SubjectLabel(subject).c_str(), sum / static_cast<double>(means.size()));
  }
  return text;
}

}  // namespace interlacer::cli
