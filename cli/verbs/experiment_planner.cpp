
#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/backend_options.h"
#include "cli/describe.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/shipped_models.h"
#include "cli/verbs/verbs.h"
#include "common/file_io.h"
#include "common/json.h"
#include "data/manifest.h"
#include "experiments/planner/outcomes.h"
#include "experiments/planner/page.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kPlannerFile[] = "planner.json";
/// Long enough for an arm to reach the object and to push it.
constexpr int kDefaultHorizon = 9;

struct PlannerArguments {
  BackendOptions backend;
  std::string data;
  std::string output;
  std::string split = "test";
  int horizon = kDefaultHorizon;
  std::int64_t seed = 0;
  bool force = false;
};

/// Fills the scenes of `study`. A scene whose object is hidden in some motion is skipped.
Status RankScenes(const PlannerArguments& arguments, const std::vector<PlannedScene>& scenes,
                  RolloutBackend* backend, const VerbContext& context, PlannerStudy* study) {
  std::int64_t total = 0, done = 0;
  for (const PlannedScene& scene : scenes) {
    total += static_cast<std::int64_t>(scene.episode_dirs.size());
  }
  const auto progress = context.MakeProgress("predict", total);
  for (const PlannedScene& scene : scenes) {
    const std::int64_t end = done + static_cast<std::int64_t>(scene.episode_dirs.size());
    std::vector<MotionOutcome> outcomes;
    for (const std::string& dir : scene.episode_dirs) {
      INTERLACER_ASSIGN_OR_RETURN(
          MotionOutcome outcome,
          PredictMotion(dir, arguments.horizon, arguments.seed, backend, context.stop()));
      outcomes.push_back(std::move(outcome));
      if (outcomes.back().particle_count < kMinObjectParticles) break;
      progress->Update(++done, scene.name);
    }
    const MotionOutcome& last = outcomes.back();
    if (last.particle_count < kMinObjectParticles) {
      study->skipped.push_back(
          {scene.name, Format("%s: expected at least %d particles of the "
                              "object, got %d",
                              last.episode.c_str(), kMinObjectParticles, last.particle_count)});
      context.Message(scene.name + " is skipped: " + study->skipped.back().reason);
    } else {
      study->scenes.push_back(RankMotions(scene.name, std::move(outcomes)));
    }
    progress->Update(done = end, scene.name);
  }
  progress->Finish();
  return Status::Ok();
}

StatusOr<ExitCode> RunPlanner(const PlannerArguments& arguments, const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<PlannedScene> scenes,
                              ListPlannedScenes(arguments.data, arguments.split));
  INTERLACER_ASSIGN_OR_RETURN(
      const BackendOptions chosen,
      WithShippedModel(arguments.backend, scenes.front().episode_dirs.front(), context));
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<RolloutBackend> backend, MakeBackend(chosen));
  INTERLACER_ASSIGN_OR_RETURN(OutputFolder folder,
                              OutputFolder::Create(arguments.output, kPlannerFile, arguments.force,
                                                   {arguments.data, chosen.model_dir}));
  PlannerStudy study;
  INTERLACER_RETURN_IF_ERROR(RankScenes(arguments, scenes, backend.get(), context, &study));
  const ModelMetadata& metadata = backend->metadata();
  study.dataset = fs::path(arguments.data).lexically_normal().filename().string();
  study.split = arguments.split;
  study.model = metadata.model_name + " " + metadata.weights_sha256;
  study.horizon = arguments.horizon;
  study.step_duration_s = metadata.step_duration_s;
  study.command = context.command_line();
  study.created_time = CurrentTimeRfc3339();

  INTERLACER_ASSIGN_OR_RETURN(const std::string page, folder.FilePath("report.html"));
  INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(page, PlannerPageHtml(study)));
  INTERLACER_ASSIGN_OR_RETURN(const std::string record, folder.FilePath(kPlannerFile));
  const nlohmann::ordered_json json = PlannerToJson(study);
  INTERLACER_RETURN_IF_ERROR(WriteJsonFile(record, json));
  INTERLACER_RETURN_IF_ERROR(folder.Commit());
  context.Result(json, PlannerText(study));
  return study.scenes.empty() ? kExitBadInput : kExitDone;
}

}  // namespace

void AddPlannerExperiment(CLI::App* experiment, VerbTable* verbs) {
  CLI::App* verb = experiment->add_subcommand(
      "planner", "Other motions of a scene, ranked by prediction and by simulation");
  const auto arguments = std::make_shared<PlannerArguments>();
  verb->add_option("--data", arguments->data,
                   "Data set with several motions a scene (interlacer simulate --motions)")
      ->required();
  AddBackendOptions(verb, &arguments->backend);
  arguments->backend.changes = StepChanges::kAsRecorded;
  verb->add_option("-o,--output", arguments->output, "Folder to write")->required();
  verb->add_option("--split", arguments->split, "Split of the data set")->capture_default_str();
  verb->add_option("--steps", arguments->horizon, "Future steps after which outcomes are compared")
      ->capture_default_str()
      ->check(RolloutSteps(1));
  verb->add_option("--seed", arguments->seed, "Seed of the draw of particles")
      ->capture_default_str();
  verb->add_flag("--force", arguments->force, "Write over an earlier result");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunPlanner(*arguments, context); });
}

}  // namespace interlacer::cli
