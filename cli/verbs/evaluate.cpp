
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/backend_options.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/prediction_options.h"
#include "cli/printed_scores.h"
#include "cli/shard.h"
#include "cli/shipped_models.h"
#include "cli/verbs/evaluation_run.h"
#include "cli/verbs/verbs.h"
#include "common/json.h"
#include "common/replaceable_folder.h"
#include "data/dataset.h"
#include "data/episode_reader.h"
#include "data/manifest.h"
#include "evaluation/merging.h"
#include "evaluation/results.h"
#include "evaluation/subjects.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

nlohmann::ordered_json SummaryJson(const Results& results) {
  nlohmann::ordered_json json = ResultsToJson(results);
  json.erase("values");
  return json;
}

/// What --force deletes beside the results.
std::string FramesOf(const EvaluateOptions& options) {
  return (fs::path(options.output) / "frames").string();
}

/// The output folder must be new or have been written by an earlier run of this verb.
Status CheckOutput(const EvaluateOptions& options) {
  if (!options.resume) {
    INTERLACER_RETURN_IF_ERROR(CheckNoOutput(options.output, options.force));
    INTERLACER_RETURN_IF_ERROR(CheckInputsOutside(
        FramesOf(options), {options.dataset, options.robot_dir, options.backend.model_dir}));
  }
  return CheckReplaceable(options.output, kResultsFile);
}

Status PrepareOutput(const EvaluateOptions& options) {
  if (options.force) {
    std::error_code error;
    fs::remove_all(FramesOf(options), error);
    // Last, because it marks the folder as ours.
    fs::remove(fs::path(options.output) / kResultsFile, error);
  }
  return MakeFolders(options.output);
}

ExitCode Conclude(const Results& results, const VerbContext& context) {
  context.Result(SummaryJson(results), ScoreTable(results));
  return results.failures.empty() ? kExitDone : kExitBadInput;
}

/// The id of an episode, or the name under which its failure is listed; its recording must be the
/// one that the parts scored.
StatusOr<std::string> IdAmongParts(const std::string& dir, const std::vector<Results>& parts) {
  const StatusOr<EpisodeReader> recording = EpisodeReader::Open(dir);
  if (!recording.ok()) return fs::path(dir).lexically_normal().filename().string();
  const std::string& id = recording->manifest().episode_id;
  for (const Results& part : parts) {
    if (const ResultEpisode* done = FindEpisode(part, id)) {
      INTERLACER_RETURN_IF_ERROR(CheckSameRecording(*done, *recording, dir));
    }
  }
  return id;
}

StatusOr<ExitCode> MergeParts(const EvaluateOptions& options,
                              const std::vector<std::string>& episode_dirs,
                              const VerbContext& context) {
  std::vector<Results> parts;
  for (const std::string& part : options.parts) {
    INTERLACER_ASSIGN_OR_RETURN(Results results, ReadResults(part));
    parts.push_back(std::move(results));
  }
  std::vector<std::string> ids;
  for (const std::string& dir : episode_dirs) {
    INTERLACER_ASSIGN_OR_RETURN(std::string id, IdAmongParts(dir, parts));
    ids.push_back(std::move(id));
  }
  INTERLACER_ASSIGN_OR_RETURN(Results merged, MergeResults(parts, ids));
  merged.command = context.command_line();
  merged.created_time = CurrentTimeRfc3339();
  std::vector<std::string> inputs = options.parts;
  inputs.push_back(options.dataset);
  INTERLACER_ASSIGN_OR_RETURN(
      OutputFolder folder,
      OutputFolder::Create(options.output, kResultsFile, options.force, inputs));
  for (const std::string& id : ids) {
    const fs::path frames = fs::path("frames") / id;
    const auto part = std::find_if(options.parts.begin(), options.parts.end(), [&](const auto& p) {
      return fs::is_directory(fs::path(p) / frames);
    });
    if (part != options.parts.end()) {
      INTERLACER_RETURN_IF_ERROR(folder.Take(fs::path(*part) / frames, frames));
    }
  }
  INTERLACER_RETURN_IF_ERROR(WriteScores(folder.partial(), merged));
  INTERLACER_RETURN_IF_ERROR(folder.Commit());
  return Conclude(merged, context);
}

StatusOr<ExitCode> RunEvaluate(EvaluateOptions options, const VerbContext& context) {
  options.plan.paint_outside_white = options.background != "none";
  options.plan.subjects = SubjectsOfReports();
  if (!options.subjects.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(options.plan.subjects, ParseSubjects(options.subjects));
  }
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
  if (!options.parts.empty()) return MergeParts(options, episodes, context);
  // Of all episodes, so that every shard takes the same model.
  const std::string first = episodes.front();
  std::size_t index = 0;
  std::erase_if(episodes, [&](const std::string&) { return !options.shard.Owns(index++); });
  INTERLACER_RETURN_IF_ERROR(CheckOutput(options));
  INTERLACER_ASSIGN_OR_RETURN(options.plan.robot, ReadRobotOption(options.robot_dir));
  std::unique_ptr<RolloutBackend> backend;
  if (NeedModel(options.plan.subjects)) {
    INTERLACER_ASSIGN_OR_RETURN(options.backend, WithShippedModel(options.backend, first, context));
    INTERLACER_ASSIGN_OR_RETURN(backend, MakeBackend(options.backend));
  }
  INTERLACER_RETURN_IF_ERROR(PrepareOutput(options));
  INTERLACER_ASSIGN_OR_RETURN(Results results,
                              StartResults(options, backend.get(), episodes, context));
  EvaluationRun run(options, backend.get(), std::move(results), context);
  INTERLACER_RETURN_IF_ERROR(run.Run(episodes));
  return Conclude(run.results(), context);
}

}  // namespace

void AddEvaluate(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand(
      "evaluate", "Score predictions by step over many episodes, beside baselines");
  const auto options = std::make_shared<EvaluateOptions>();
  verb->add_option("dataset", options->dataset, "Data set, folder of episodes, or episode")
      ->required();
  verb->add_option("-o,--output", options->output, "Folder to write")->required();
  AddBackendOptions(verb, &options->backend);
  options->backend.changes = StepChanges::kAsRecorded;
  AddRenderOption(verb, &options->plan.render_mode);
  AddSpreadOption(verb, &options->plan.measures_spread);
  AddPictureSizeOption(verb, &options->plan.picture_size);
  AddRobotOption(verb, &options->robot_dir);
  verb->add_option("--split", options->split, "Split of the data set: train, val or test");
  verb->add_option("--episodes", options->episode_limit,
                   "At most so many episodes, in order; 0: all")
      ->check(ZeroOrMore());
  CLI::Option* shard =
      verb->add_option("--shard", "Only the episodes I, I + N, ... of the command: I/N")
          ->check(ParsedInto(&options->shard, ParseShard));
  CLI::Option* merge =
      verb->add_option("--merge", options->parts,
                       "Put together what the shards of the same command have written to these "
                       "folders; needs no model")
          ->check(CLI::ExistingDirectory)
          ->excludes(shard);
  verb->add_option("--steps", options->plan.step_count,
                   "Future steps of each rollout; N need episodes of N + 2 steps")
      ->capture_default_str()
      ->check(RolloutSteps(0));
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
  AddSubjectsOption(verb, &options->subjects);
  verb->add_flag("--no-frames", options->no_frames, "Write no pictures and no particles");
  CLI::Option* resume =
      verb->add_flag("--resume", options->resume, "Go on after the last finished episode")
          ->excludes(merge);
  verb->add_flag("--force", options->force, "Replace existing results")->excludes(resume);
  verbs->Add(verb,
             [options](const VerbContext& context) { return RunEvaluate(*options, context); });
}

}  // namespace interlacer::cli
