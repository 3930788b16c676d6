#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/verbs/verbs.h"
#include "common/file_io.h"
#include "common/folder_lock.h"
#include "common/json.h"
#include "common/thread_pool.h"
#include "data/manifest.h"
#include "experiments/learning/page.h"

namespace interlacer::cli {
namespace {

struct MotifArguments {
  std::string plan;
  std::string output;
};

StatusOr<ExitCode> RunMotifs(const MotifArguments& arguments, const VerbContext& context) {
  INTERLACER_ASSIGN_OR_RETURN(const LearningPlan plan, ReadLearningPlan(arguments.plan));
  // Sums of several threads would not have the bytes of another run.
  SetThreadCount(1);
  INTERLACER_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(arguments.output));
  const auto runs = static_cast<std::int64_t>(plan.seeds.size() * plan.networks.size());
  const auto progress = context.MakeProgress("learn", runs * plan.training.epoch_count);
  StudyProgress study_progress;
  study_progress.stop = context.stop();
  study_progress.on_epoch = [&](std::int64_t run, const std::string& name,
                                const EpochRecord& epoch) {
    progress->Update(run * plan.training.epoch_count + epoch.epoch, name);
  };
  StatusOr<LearningStudy> study = RunLearningStudy(plan, arguments.output, study_progress);
  progress->Finish();
  if (!study.ok()) return study.status();
  study->command = context.command_line();
  study->created_time = CurrentTimeRfc3339();
  const std::filesystem::path folder(arguments.output);
  const nlohmann::ordered_json json = LearningToJson(*study);
  INTERLACER_RETURN_IF_ERROR(
      WriteFileAtomic((folder / "epochs.csv").string(), EpochsToCsv(*study)));
  INTERLACER_RETURN_IF_ERROR(
      WriteFileAtomic((folder / "report.html").string(), LearningPageHtml(*study)));
  INTERLACER_RETURN_IF_ERROR(WriteJsonFile((folder / "learning.json").string(), json));
  context.Result(json, LearningText(*study));
  return kExitDone;
}

}  // namespace

void AddMotifsExperiment(CLI::App* experiment, VerbTable* verbs) {
  CLI::App* verb = experiment->add_subcommand(
      "motifs", "Networks of attention layers that tell graphs with a motif from others");
  const auto arguments = std::make_shared<MotifArguments>();
  verb->add_option("--plan", arguments->plan,
                   "Plan of the comparison: data, training, networks, seeds, claims")
      ->required();
  verb->add_option("-o,--output", arguments->output,
                   "Folder to write; finished runs are kept and stopped ones go on")
      ->required();
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunMotifs(*arguments, context); });
}

}  // namespace interlacer::cli
