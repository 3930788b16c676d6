#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/backend_options.h"
#include "cli/durations.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/shipped_models.h"
#include "cli/verbs/verbs.h"
#include "common/json.h"
#include "data/manifest.h"
#include "experiments/planner/closed_loop.h"
#include "experiments/planner/trial_journal.h"

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
  std::vector<std::string> least_gains;
  std::string journal;
  bool force = false;
};

std::vector<std::string> ChooserWords() {
  std::vector<std::string> words;
  for (const Chooser chooser : AllChoosers()) words.push_back(NameOf(chooser));
  return words;
}

/// "CHOOSER=METRES", of those that compare motions with keeping still.
StatusOr<std::map<Chooser, double>> ParseLeastGains(const std::vector<std::string>& texts) {
  std::map<Chooser, double> gains_m;
  for (const std::string& text : texts) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::optional<Chooser> chooser = ChooserNamed(text.substr(0, equals));
    const bool compares =
        chooser == Chooser::kModel || chooser == Chooser::kTool || chooser == Chooser::kSimulator;
    double gain_m = -1;
    const bool is_number = equals < text.size() &&
                           CLI::detail::lexical_cast(text.substr(equals + 1), gain_m) &&
                           std::isfinite(gain_m) && gain_m >= 0;
    if (!compares || !is_number || !gains_m.emplace(*chooser, gain_m).second) {
      return Mismatch(reason::ARGUMENT_INVALID, "--least-gain",
                      "CHOOSER=METRES with 0 or more metres, such as model=0.04, once each of "
                      "model, tool and simulator",
                      text);
    }
  }
  return gains_m;
}

StatusOr<std::unique_ptr<RolloutBackend>> BackendOf(const ClosedLoopArguments& arguments) {
  BackendOptions chosen = arguments.backend;
  if (chosen.model_dir.empty() && chosen.server.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(chosen.model_dir, FindShippedModel(kDefaultModel));
    chosen.model_name = kDefaultModel;
  }
  return MakeBackend(chosen);
}

StatusOr<ExitCode> RunClosedLoop(const ClosedLoopArguments& arguments, const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const auto least_gain_m, ParseLeastGains(arguments.least_gains));
  std::vector<Chooser> choosers;
  for (const Chooser chooser : AllChoosers()) {
    const auto& wanted = arguments.choosers;
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), NameOf(chooser)) != wanted.end())
      choosers.push_back(chooser);
  }
  std::unique_ptr<RolloutBackend> backend;  // asked by kModel alone, the first of them
  if (choosers.front() == Chooser::kModel) {
    INTERLACER_ASSIGN_OR_RETURN(backend, BackendOf(arguments));
  }
  INTERLACER_ASSIGN_OR_RETURN(
      OutputFolder folder, OutputFolder::Create(arguments.output, kClosedLoopFile, arguments.force,
                                                {arguments.journal, arguments.backend.model_dir}));
  ClosedLoopStudy study;
  study.options = arguments.options;
  study.options.least_gain_m = least_gain_m;
  if (backend) {
    study.model = backend->metadata().model_name + " " + backend->metadata().weights_sha256;
  }
  INTERLACER_ASSIGN_OR_RETURN(TrialJournal journal, TrialJournal::Open(arguments.journal, study));
  const auto total = static_cast<std::int64_t>(choosers.size()) * arguments.scene_count;
  const auto progress = context.MakeProgress("trials", total);
  for (int scene = 0; scene < arguments.scene_count; ++scene) {
    ClosedLoopOptions options = study.options;
    options.sim.seed += static_cast<std::uint64_t>(scene);
    for (const Chooser chooser : choosers) {
      auto trial = journal.Find(options.sim.seed, chooser);
      if (!trial) {
        INTERLACER_ASSIGN_OR_RETURN(trial,
                                    RunTrial(options, chooser, backend.get(), context.stop()));
        INTERLACER_RETURN_IF_ERROR(journal.Add(*trial));
      }
      study.trials.push_back(*std::move(trial));
      progress->Update(static_cast<std::int64_t>(study.trials.size()), NameOf(chooser));
    }
  }
  progress->Finish();
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
      "closed_loop", "An object brought to a goal in the simulator, one decision after another");
  const auto arguments = std::make_shared<ClosedLoopArguments>();
  arguments->options.sim.split = sim::Split::kTest;
  arguments->options.sim.seed = 45000;
  ClosedLoopOptions& options = arguments->options;
  AddBackendOptions(verb, &arguments->backend);
  arguments->backend.changes = StepChanges::kAsRecorded;
  verb->add_option("-o,--output", arguments->output, "Folder to write")->required();
  verb->add_option("--scenes", arguments->scene_count, "How many")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--seed", options.sim.seed, "Seed of the first scene; the next ones follow")
      ->capture_default_str()
      ->check(ZeroOrMore());
  verb->add_option("--split", "Whose scenes: train, val or test")
      ->default_str(sim::NameOf(options.sim.split))
      ->check(ParsedInto(&options.sim.split, sim::ParseSplit));
  verb->add_option("--choosers", arguments->choosers, "Who decides; default all")
      ->delimiter(',')
      ->check(CLI::IsMember(ChooserWords()));
  verb->add_option("--decisions", options.decision_count, "At most so many motions a scene")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--candidates", options.candidate_count, "Motions to choose from")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--steps", options.step_count, "Steps of a motion")
      ->capture_default_str()
      ->check(RolloutSteps(1));
  verb->add_option("--limit", options.limit_s,
                   "Time of a decision, such as 10s; motions not scored by then are not chosen")
      ->default_str("10s")
      ->transform(AsSeconds())
      ->check(AboveZero());
  verb->add_option("--core-limit", options.core_limit_s,
                   "The same in processor time of this process: 20s are 10 s of two cores that do "
                   "nothing else; default none")
      ->transform(AsSeconds())
      ->check(AboveZero());
  verb->add_option("--least-gain", arguments->least_gains,
                   "CHOOSER=METRES: a motion that it predicts to gain less is not made; for model, "
                   "tool, simulator, default 0.005")
      ->delimiter(',');
  verb->add_option("--task", options.sim.task, "push_block or lift_can")
      ->capture_default_str()
      ->check(CLI::IsMember({"push_block", "lift_can"}));
  verb->add_option("--journal", arguments->journal,
                   "File of trials that have ended, a line each; a run that was cut off goes on");
  verb->add_flag("--force", arguments->force, "Write over an earlier result");
  verbs->Add(
      verb, [arguments](const VerbContext& context) { return RunClosedLoop(*arguments, context); });
}

}  // namespace interlacer::cli
