#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/backend_options.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/shipped_models.h"
#include "cli/verbs/verbs.h"
#include "common/file_io.h"
#include "common/json.h"
#include "data/manifest.h"
#include "experiments/planner/closed_loop.h"

namespace interlacer::cli {
namespace {

constexpr char kClosedLoopFile[] = "closed_loop.json";
constexpr char kDefaultModel[] = "small";

struct ClosedLoopArguments {
  BackendOptions backend;
  std::string output;
  ClosedLoopOptions options;
  int scene_count = 20;
  std::vector<std::string> choosers;
  bool force = false;
};

std::vector<std::string> ChooserWords() {
  std::vector<std::string> words;
  for (const Chooser chooser : AllChoosers()) words.push_back(NameOf(chooser));
  return words;
}

StatusOr<ExitCode> RunClosedLoop(const ClosedLoopArguments& arguments, const VerbContext& context) {
  BackendOptions chosen = arguments.backend;
  if (chosen.model_dir.empty() && chosen.server.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(chosen.model_dir, FindShippedModel(kDefaultModel));
    chosen.model_name = kDefaultModel;
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<RolloutBackend> backend, MakeBackend(chosen));
  INTERLACER_ASSIGN_OR_RETURN(
      OutputFolder folder,
      OutputFolder::Create(arguments.output, kClosedLoopFile, arguments.force));
  ClosedLoopStudy study;
  study.options = arguments.options;
  std::vector<Chooser> choosers;
  for (const Chooser chooser : AllChoosers()) {
    const auto& wanted = arguments.choosers;
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), NameOf(chooser)) != wanted.end())
      choosers.push_back(chooser);
  }
  const auto total = static_cast<std::int64_t>(choosers.size()) * arguments.scene_count;
  const auto progress = context.MakeProgress("push", total);
  for (int scene = 0; scene < arguments.scene_count; ++scene) {
    ClosedLoopOptions options = arguments.options;
    options.sim.seed += static_cast<std::uint64_t>(scene);
    for (const Chooser chooser : choosers) {
      INTERLACER_ASSIGN_OR_RETURN(TrialResult trial,
                                  RunTrial(options, chooser, backend.get(), context.stop()));
      study.trials.push_back(std::move(trial));
      progress->Update(static_cast<std::int64_t>(study.trials.size()), NameOf(chooser));
    }
  }
  progress->Finish();
  const ModelMetadata& metadata = backend->metadata();
  study.model = metadata.model_name + " " + metadata.weights_sha256;
  study.command = context.command_line();
  study.created_time = CurrentTimeRfc3339();
  const nlohmann::ordered_json json = ClosedLoopToJson(study);
  INTERLACER_ASSIGN_OR_RETURN(const std::string record, folder.FilePath(kClosedLoopFile));
  INTERLACER_RETURN_IF_ERROR(WriteJsonFile(record, json));
  INTERLACER_RETURN_IF_ERROR(folder.Commit());
  context.Result(json, ClosedLoopText(study));
  return kExitDone;
}

}  // namespace

void AddClosedLoopExperiment(CLI::App* experiment, VerbTable* verbs) {
  CLI::App* verb = experiment->add_subcommand(
      "closed_loop", "Pushes to goals in the simulator, one decision after another");
  const auto arguments = std::make_shared<ClosedLoopArguments>();
  arguments->options.sim.split = sim::Split::kTest;
  arguments->options.sim.seed = 45000;
  ClosedLoopOptions& options = arguments->options;
  AddBackendOptions(verb, &arguments->backend);
  verb->add_option("-o,--output", arguments->output, "Folder to write")->required();
  verb->add_option("--scenes", arguments->scene_count, "How many")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--seed", options.sim.seed, "Seed of the first scene; the next ones follow")
      ->capture_default_str()
      ->check(ZeroOrMore());
  verb->add_option("--choosers", arguments->choosers, "Who decides; default all")
      ->delimiter(',')
      ->check(CLI::IsMember(ChooserWords()));
  verb->add_option("--decisions", options.decision_count, "At most so many pushes a scene")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--candidates", options.candidate_count, "Motions to choose from")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--steps", options.step_count, "Steps of a motion")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_flag("--force", arguments->force, "Write over an earlier result");
  verbs->Add(
      verb, [arguments](const VerbContext& context) { return RunClosedLoop(*arguments, context); });
}

}  // namespace interlacer::cli
