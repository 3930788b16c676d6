#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/backend_options.h"
#include "client/cli/describe.h"
#include "client/cli/evaluation/episode_run.h"
#include "client/cli/evaluation/results.h"
#include "client/cli/evaluation/resumption.h"
#include "client/cli/evaluation/score_text.h"
#include "client/cli/evaluation/view_scores.h"
#include "client/cli/numbers.h"
#include "client/cli/output.h"
#include "client/cli/verbs/verbs.h"
#include "common/file_io.h"
#include "common/replaceable_folder.h"
#include "common/version.h"
#include "data/dataset.h"
#include "data/manifest.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

struct EvaluateOptions {
  std::string dataset;
  std::string output;
  BackendOptions backend;
  PlanOptions plan;
  std::string split;
  std::string background = "white_outside_workspace";
  std::int64_t episode_limit = 0;
  bool no_frames = false;
  bool resume = false;
  bool force = false;
};

Results HeadOf(const EvaluateOptions& options, const RolloutBackend& backend,
               const VerbContext& context) {
  Results results;
  results.tool_version = kVersion;
  results.command = context.command_line();
  results.created_time = CurrentTimeRfc3339();
  results.device = backend.device_name();
  results.model = ToJson(backend.metadata());
  results.split = options.split;
  results.step_count = options.plan.step_count;
  results.step_duration_s = backend.metadata().step_duration_s;
  results.image_width_px = backend.metadata().cameras[0].width_px;
  results.image_height_px = backend.metadata().cameras[0].height_px;
  results.target_background = options.background;
  results.seed = options.plan.seed;
  results.location = backend.location();
  results.plan = {options.plan.window_count, options.plan.start_step, options.plan.input_cameras,
                  options.plan.target_cameras};
  return results;
}

/// The results so far with --resume, else a fresh head.
StatusOr<Results> StartResults(const EvaluateOptions& options, const RolloutBackend& backend,
                               const VerbContext& context) {
  Results head = HeadOf(options, backend, context);
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

class EvaluationRun {
 public:
  EvaluationRun(const EvaluateOptions& options, RolloutBackend* backend, Results results,
                const VerbContext& context)
      : options_(options),
        backend_(backend),
        results_(std::move(results)),
        context_(context),
        earlier_duration_s_(results_.duration_s) {}

  const Results& results() const { return results_; }

  /// CANCELLED keeps what was finished; other errors of one episode are recorded and counted.
  Status Run(const std::vector<std::string>& episode_dirs) {
    std::unique_ptr<Progress> progress =
        context_.MakeProgress("evaluate", static_cast<std::int64_t>(episode_dirs.size()));
    // At once, so that a run which is killed leaves a folder that --force may replace.
    INTERLACER_RETURN_IF_ERROR(Save());
    std::int64_t done = 0;
    for (const std::string& dir : episode_dirs) {
      if (context_.stop().stop_requested()) return Cancelled("stopped; --resume goes on");
      const std::size_t known = results_.episodes.size();
      const Status status = RunEpisodeAt(dir);
      if (status.code() == StatusCode::kCancelled) return status;
      if (IsFatal(status)) return status;
      RecordOutcome(dir, status);
      INTERLACER_RETURN_IF_ERROR(Save());
      ++done;
      if (status.ok() && results_.episodes.size() == known) {
        progress->Found(done);
      } else {
        progress->Update(done, NoteText());
      }
    }
    return Status::Ok();
  }

 private:
  /// Errors that the next episode would meet too.
  static bool IsFatal(const Status& status) {
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

  Status RunEpisodeAt(const std::string& dir) {
    INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader recording, EpisodeReader::Open(dir));
    const std::string& id = recording.manifest().episode_id;
    const auto done = std::find_if(results_.episodes.begin(), results_.episodes.end(),
                                   [&](const ResultEpisode& e) { return e.id == id; });
    if (done != results_.episodes.end()) {
      INTERLACER_ASSIGN_OR_RETURN(const std::string sha256, recording.ManifestSha256());
      if (sha256 == done->manifest_sha256) return Status::Ok();
      return FailedPrecondition(reason::HASH_MISMATCH,
                                id + " was evaluated with another manifest: expected " +
                                    done->manifest_sha256 + ", got " + sha256)
          .WithField(dir);
    }
    const EpisodeReader episode = recording.AsStaticViews();
    EpisodeRunOptions run;
    run.plan = options_.plan;
    if (!options_.no_frames) run.frames_dir = (fs::path(options_.output) / "frames").string();
    return RunEpisode(episode, run, backend_, &results_, context_.stop());
  }

  /// Of the last attempt; an earlier failure is forgotten.
  void RecordOutcome(const std::string& dir, const Status& status) {
    const std::string id = fs::path(dir).lexically_normal().filename().string();
    std::erase_if(results_.failures, [&](const ResultFailure& f) { return f.episode == id; });
    if (status.ok()) return;
    context_.Message(id + ": " + status.ToString());
    results_.failures.push_back({id, status.reason(), status.message()});
  }

  Status Save() {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    results_.duration_s = earlier_duration_s_ + elapsed.count();
    const fs::path folder(options_.output);
    INTERLACER_RETURN_IF_ERROR(WriteResults((folder / kResultsFile).string(), results_));
    return WriteFileAtomic((folder / "per_step.csv").string(), ResultsToCsv(results_));
  }

  std::string NoteText() const {
    const auto ssim = Aggregate(results_, {kModel, kSsim, 0, "", {}});
    return ssim ? Format("SSIM at step 0 %.4f", ssim->mean) : "";
  }

  const EvaluateOptions& options_;
  RolloutBackend* const backend_;
  Results results_;
  const VerbContext& context_;
  const double earlier_duration_s_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// One line a step: SSIM of the whole picture, then where something moves, then PSNR, each beside
/// its baselines; `is_input` chooses the cameras that the model saw or did not see.
std::string ScoreLines(const Results& results, std::optional<bool> is_input) {
  const auto mean = [&](std::string_view subject, std::string_view metric, int step, int decimals) {
    const auto estimate = Aggregate(results, {subject, metric, step, "", is_input});
    return ScoreText(estimate ? std::optional<double>(estimate->mean) : std::nullopt, decimals);
  };
  std::string text = "step  SSIM    splat   copy    moving  copy    PSNR   splat\n";
  for (const int step : StepsOf(results)) {
    text += Format(
        "%4d  %-6s  %-6s  %-6s  %-6s  %-6s  %-5s  %s\n", step, mean(kModel, kSsim, step, 4).c_str(),
        mean(kSplat, kSsim, step, 4).c_str(), mean(kCopyLast, kSsim, step, 4).c_str(),
        mean(kModel, kSsimMoving, step, 4).c_str(), mean(kCopyLast, kSsimMoving, step, 4).c_str(),
        mean(kModel, kPsnr, step, 2).c_str(), mean(kSplat, kPsnr, step, 2).c_str());
  }
  return text;
}

std::string SummaryText(const Results& results) {
  std::string text =
      Format("episodes: %zu, failures: %zu\n", results.episodes.size(), results.failures.size());
  text += ScoreLines(results, {});
  if (Aggregate(results, {kModel, kSsim, -1, "", false})) {
    text += "held-out cameras only:\n" + ScoreLines(results, false);
  }
  return text;
}

nlohmann::ordered_json SummaryJson(const Results& results) {
  nlohmann::ordered_json json = ResultsToJson(results);
  json.erase("values");
  return json;
}

/// Nothing to lose there: new, or what an earlier run of this verb left.
Status CheckOutput(const EvaluateOptions& options) {
  if (!options.resume) {
    INTERLACER_RETURN_IF_ERROR(CheckNoOutput(options.output, options.force));
  }
  return CheckReplaceable(options.output, kResultsFile);
}

Status PrepareOutput(const EvaluateOptions& options) {
  if (options.force) {
    std::error_code error;
    const fs::path folder(options.output);
    fs::remove_all(folder / "frames", error);
    // Last, because it marks the folder as ours.
    fs::remove(folder / kResultsFile, error);
  }
  return MakeFolders(options.output);
}

StatusOr<ExitCode> RunEvaluate(EvaluateOptions options, const VerbContext& context) {
  options.plan.paint_outside_white = options.background != "none";
  INTERLACER_ASSIGN_OR_RETURN(std::vector<std::string> episodes,
                              ListEpisodes(options.dataset, options.split));
  if (episodes.empty()) {
    return NotFound(reason::FILE_NOT_FOUND, options.dataset + " holds no episode")
        .WithField(options.dataset);
  }
  if (options.episode_limit > 0 &&
      episodes.size() > static_cast<std::size_t>(options.episode_limit)) {
    episodes.resize(static_cast<std::size_t>(options.episode_limit));
  }
  INTERLACER_RETURN_IF_ERROR(CheckOutput(options));
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<RolloutBackend> backend,
                              MakeBackend(options.backend));
  INTERLACER_RETURN_IF_ERROR(PrepareOutput(options));
  INTERLACER_ASSIGN_OR_RETURN(Results results, StartResults(options, *backend, context));
  EvaluationRun run(options, backend.get(), std::move(results), context);
  INTERLACER_RETURN_IF_ERROR(run.Run(episodes));
  context.Result(SummaryJson(run.results()), SummaryText(run.results()));
  return run.results().failures.empty() ? kExitDone : kExitBadInput;
}

}  // namespace

void AddEvaluate(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb =
      app->add_subcommand("evaluate", "Scores by step over many episodes, beside baselines");
  const auto options = std::make_shared<EvaluateOptions>();
  verb->add_option("dataset", options->dataset, "Data set, folder of episodes, or episode")
      ->required();
  verb->add_option("-o,--output", options->output, "Folder to write")->required();
  AddBackendOptions(verb, &options->backend);
  verb->add_option("--split", options->split, "Split of the data set: train, val or test");
  verb->add_option("--episodes", options->episode_limit, "At most so many episodes, in order");
  verb->add_option("--steps", options->plan.step_count, "Future steps of each rollout")
      ->capture_default_str()
      ->check(ZeroOrMore());
  verb->add_option("--start-step", options->plan.start_step,
                   "Newest observed step; default the first with a full history");
  verb->add_option("--windows", options->plan.window_count,
                   "Rollouts of an episode, spread over it (static scenes: choices of views)")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--cameras", options->plan.input_cameras,
                   "Episode cameras that act as the model's")
      ->delimiter(',');
  verb->add_option("--target-cameras", options->plan.target_cameras,
                   "Further cameras to predict, which the model does not see")
      ->delimiter(',');
  verb->add_option("--seed", options->plan.seed, "Seed of the draw of particles")
      ->capture_default_str();
  verb->add_option("--target-background", options->background,
                   "True frames: white_outside_workspace or none")
      ->capture_default_str()
      ->check(CLI::IsMember({"white_outside_workspace", "none"}));
  verb->add_flag("--no-frames", options->no_frames, "Write no pictures");
  CLI::Option* resume =
      verb->add_flag("--resume", options->resume, "Go on after the last finished episode");
  verb->add_flag("--force", options->force, "Replace existing results")->excludes(resume);
  verbs->Add(verb,
             [options](const VerbContext& context) { return RunEvaluate(*options, context); });
}

}  // namespace interlacer::cli
