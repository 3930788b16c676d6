#include "cli/verbs/experiment_plan.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/child_jobs.h"
#include "cli/exit_codes.h"
#include "common/file_io.h"
#include "common/folder_lock.h"
#include "common/json.h"
#include "common/sha256.h"
#include "data/dataset.h"
#include "experiments/hdvpd/cells.h"
#include "experiments/hdvpd/runs.h"
#include "model/files/tensor_header.h"
#include "model/training/run_inputs.h"
#include "model/training/training_config.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kDivergedFile[] = "/diverged.json";

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string TextOf(const std::string& path) {
  StatusOr<std::string> text = ReadTextFile(path);
  return text.ok() ? *std::move(text) : "";
}

class PlannedStudy {
 public:
  PlannedStudy(const StudyPlan& plan, const PlannedStudyOptions& options,
               const VerbContext& context)
      : plan_(plan), options_(options), context_(context) {}

  StatusOr<std::set<std::string>> Make() {
    INTERLACER_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(options_.output));
    INTERLACER_RETURN_IF_ERROR(CheckConfigs());
    INTERLACER_ASSIGN_OR_RETURN(const std::string text, TextOfSamePlan());
    std::vector<Choice> choices;
    if (IsRepeated()) {
      INTERLACER_ASSIGN_OR_RETURN(choices, ReadChoices());
    }
    INTERLACER_RETURN_IF_ERROR(CheckSameRuns(choices));
    INTERLACER_RETURN_IF_ERROR(Simulate("train", plan_.train, options_.data + "/train"));
    INTERLACER_RETURN_IF_ERROR(Simulate("val", plan_.val, options_.data + "/val"));
    // Only now, so that a plan whose episodes cannot be made may still be mended.
    INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(KeptPlan(), text));
    std::vector<Cell> appearance = AppearanceCells(plan_);
    if (IsRepeated()) {
      const std::string first = RunsOf(0, choices).front().init;
      std::erase_if(appearance, [&](const Cell& cell) { return cell.name != first; });
    }
    INTERLACER_RETURN_IF_ERROR(TrainCells("appearance", appearance));
    if (!IsRepeated()) {
      INTERLACER_ASSIGN_OR_RETURN(choices, Search());
    }
    std::vector<Cell> last;
    for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) {
      last = RunsOf(stage, choices);
      INTERLACER_RETURN_IF_ERROR(TrainCells(plan_.stages[stage].name, last));
      for (const Cell& cell : last) INTERLACER_RETURN_IF_ERROR(CheckFirstWeights(cell));
    }
    INTERLACER_RETURN_IF_ERROR(Freeze(last));
    INTERLACER_RETURN_IF_ERROR(Simulate("test", plan_.test, options_.test()));
    std::set<std::string> left_out;
    for (const Cell& cell : last) {
      if (HasDiverged(cell)) left_out.insert(fs::path(cell.name).filename().string());
    }
    return left_out;
  }

 private:
  std::string DirOf(const std::string& cell) const { return options_.runs() + "/" + cell; }
  std::string LogOf(const std::string& job) const {
    return options_.output + "/logs/" + job + ".log";
  }
  bool HasDiverged(const Cell& cell) const { return Exists(DirOf(cell.name) + kDivergedFile); }

  /// Every configuration that the plan may ask for, so that none is refused, or scored as another
  /// variant, when others have been trained.
  Status CheckConfigs() const {
    for (const Cell& cell : AppearanceCells(plan_)) {
      INTERLACER_RETURN_IF_ERROR(ModelOf(cell, plan_.variants[0].name).status());
    }
    std::optional<VariantModel> reference;
    for (const PlannedVariant& variant : plan_.variants) {
      std::vector<Cell> cells = TrialCells(plan_, variant);
      const std::size_t trial_count = cells.size();
      for (std::size_t trial = 0; trial < trial_count; ++trial) {
        for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) {
          const auto runs = StageCells(plan_, variant, stage, ChoiceOf(plan_, trial));
          cells.push_back(runs.front());
        }
      }
      for (const Cell& cell : cells) {
        INTERLACER_ASSIGN_OR_RETURN(VariantModel model, ModelOf(cell, variant.name));
        if (!reference) reference = model;
        INTERLACER_RETURN_IF_ERROR(CheckVariantModel(model, *reference));
      }
    }
    return Status::Ok();
  }

  StatusOr<VariantModel> ModelOf(const Cell& cell, const std::string& variant) const {
    const StatusOr<RunConfig> run = ParseRunConfigJson(cell.config.dump());
    if (!run.ok()) return run.status().WithFieldPrefix(options_.plan_path + ": " + cell.name + ":");
    return VariantModel{cell.name, variant, nlohmann::json(ConfigToJson(run->model))};
  }

  bool IsRepeated() const { return !options_.repeated_run.empty(); }
  std::string KeptPlan() const { return options_.output + "/plan.json"; }

  /// What one of several runs was frozen as would be refused when all are, hours later.
  Status CheckSameRuns(const std::vector<Choice>& choices) const {
    const std::string path = options_.output + "/repeated.json";
    nlohmann::ordered_json now;
    if (IsRepeated()) {
      const Cell run = RunsOf(0, choices).front();
      now = {{"run", options_.repeated_run},
             {"learning_rate", run.config["training"]["learning_rate"]},
             {"network", run.config["model"]["network"]}};
    }
    nlohmann::json first;
    if (Exists(path)) {
      INTERLACER_ASSIGN_OR_RETURN(first, ReadJsonFile(path));
    }
    const bool has_begun = Exists(path) || Exists(KeptPlan());
    if (has_begun && first != nlohmann::json(now)) {
      return FailedPrecondition(reason::OUTPUT_EXISTS,
                                "expected " + (first.is_null() ? "the whole study" : first.dump()) +
                                    ", which began here, got " +
                                    (now.is_null() ? "the whole study" : now.dump()) +
                                    "; choose a folder of its own")
          .WithField(options_.output);
    }
    return IsRepeated() ? WriteJsonFile(path, now) : Status::Ok();
  }

  /// What the search of the study whose run is repeated chose.
  StatusOr<std::vector<Choice>> ReadChoices() const {
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json all, ReadJsonFile(options_.choices_path));
    std::vector<Choice> choices;
    for (const PlannedVariant& variant : plan_.variants) {
      const std::size_t trial_count = variant.models.size() * plan_.learning_rates.size();
      std::size_t trial = 0;
      const auto is_chosen = [&] {
        return std::find(all.begin(), all.end(), nlohmann::json(RecordOf(variant, trial))) !=
               all.end();
      };
      while (trial < trial_count && !is_chosen()) ++trial;
      if (trial == trial_count) return NotChosen(variant.name);
      choices.push_back(ChoiceOf(plan_, trial));
    }
    return choices;
  }

  Status NotChosen(const std::string& variant_name) const {
    return InvalidArgument(reason::CONFIG_INVALID, options_.choices_path +
                                                       ": expected what the search of this plan "
                                                       "chose for each variant, got none of the "
                                                       "trials of " +
                                                       variant_name +
                                                       "; is it the choices.json of this plan?")
        .WithField("--choices");
  }

  nlohmann::ordered_json RecordOf(const PlannedVariant& variant, std::size_t trial) const {
    const Choice choice = ChoiceOf(plan_, trial);
    return {{"variant", variant.name},
            {"model", variant.models[choice.model]},
            {"learning_rate", choice.learning_rate},
            {"trial", trial}};
  }

  /// A study has one plan: results of two would be taken for those of one.
  StatusOr<std::string> TextOfSamePlan() const {
    INTERLACER_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(options_.plan_path));
    if (!Exists(KeptPlan())) return text;
    INTERLACER_ASSIGN_OR_RETURN(const std::string first, ReadTextFile(KeptPlan()));
    if (first == text) return text;
    return FailedPrecondition(reason::CONFIG_INVALID,
                              options_.plan_path +
                                  ": expected the plan that the study began with, " + KeptPlan() +
                                  ", got another; a changed plan is another study, in a "
                                  "folder of its own")
        .WithField("--plan");
  }

  /// Makes what is missing; episodes that are there must be those of the plan.
  Status Simulate(const std::string& split, const PlannedEpisodes& episodes,
                  const std::string& folder) const {
    ChildJob job{"simulate " + split,
                 {"simulate", "--split", split, "--seed", std::to_string(episodes.first_seed),
                  "--episodes", std::to_string(episodes.count), "--jobs",
                  std::to_string(options_.jobs_at_once), "--output", folder, "--resume", "--quiet"},
                 LogOf("simulate-" + split)};
    job.arguments.insert(job.arguments.end(), plan_.simulate_options.begin(),
                         plan_.simulate_options.end());
    const std::string log = job.log_path;
    int exit_code = 0;
    INTERLACER_RETURN_IF_ERROR(RunChildJobs({std::move(job)}, 1, context_.stop(),
                                            [&](std::size_t, int code) { exit_code = code; }));
    if (exit_code != 0) return FailedChild("simulate " + split, log, exit_code);
    INTERLACER_ASSIGN_OR_RETURN(const Dataset dataset, ReadDataset(folder));
    const std::size_t count = dataset.splits.at(split).size();
    if (count == static_cast<std::size_t>(episodes.count)) return Status::Ok();
    return Mismatch(reason::CONFIG_INVALID, folder + ": " + split,
                    "the " + std::to_string(episodes.count) + " episodes of the plan",
                    std::to_string(count));
  }

  /// The last line of the log that says something: usage errors end with a hint.
  static Status FailedChild(const std::string& name, const std::string& log, int exit_code) {
    std::istringstream lines(TextOf(log));
    std::string why;
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty() && !line.starts_with("Run with --help")) why = line;
    }
    const std::string message = name + " ended with exit code " + std::to_string(exit_code) + ": " +
                                why + "; the same command goes on once that is mended";
    Status status = exit_code == kExitUsage ? InvalidArgument(reason::CONFIG_INVALID, message)
                                            : Internal(message);
    return status.WithField(log);
  }

  /// Trains what has not ended. A loss that is not finite ends its cell and those that build on it;
  /// other failures are reported when the other cells have ended, the first in the plan's order.
  Status TrainCells(const std::string& label, const std::vector<Cell>& cells) const {
    std::vector<ChildJob> jobs;
    for (const Cell& cell : cells) {
      if (ReadCell(DirOf(cell.name)).has_ended || HasDiverged(cell)) continue;
      if (!cell.init.empty() && Exists(DirOf(cell.init) + kDivergedFile)) {
        INTERLACER_RETURN_IF_ERROR(MarkDiverged(cell.name, "its first weights: " + cell.init));
        continue;
      }
      INTERLACER_ASSIGN_OR_RETURN(ChildJob job, JobOf(cell));
      jobs.push_back(std::move(job));
    }
    const auto total = static_cast<std::int64_t>(cells.size());
    const auto progress = context_.MakeProgress(label, total);
    std::int64_t done = total - static_cast<std::int64_t>(jobs.size());
    if (done > 0) progress->Found(done);
    Status status;
    std::size_t failed = jobs.size();
    const auto on_end = [&](std::size_t i, int exit_code) {
      if (exit_code != 0 && context_.stop().stop_requested()) return;
      progress->Update(++done, jobs[i].name);
      if (exit_code == 0 || i > failed) return;
      const std::string log = TextOf(jobs[i].log_path);
      const Status ended =
          log.find(reason::PREDICTION_NOT_FINITE) != std::string::npos
              ? MarkDiverged(jobs[i].name, "the loss is not finite")
              : FailedChild("training " + jobs[i].name, jobs[i].log_path, exit_code);
      if (ended.ok()) return;
      status = ended;
      failed = i;
    };
    INTERLACER_RETURN_IF_ERROR(RunChildJobs(jobs, options_.jobs_at_once, context_.stop(), on_end));
    progress->Finish();
    return status;
  }

  /// A run that was trained on after the next stage had begun with its weights would be described
  /// by a log of other weights than those that are scored.
  Status CheckFirstWeights(const Cell& cell) const {
    if (HasDiverged(cell)) return Status::Ok();
    const std::string path = DirOf(cell.name) + "/inputs.json";
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json inputs, ReadJsonFile(path));
    INTERLACER_ASSIGN_OR_RETURN(const std::string now,
                                Sha256OfFile(DirOf(cell.init) + "/checkpoint/" + kWeightsFile));
    const char* const key =
        cell.takes_appearance_alone ? kInitialAppearanceKey : kInitialWeightsKey;
    const std::string then = inputs.value(key, "");
    if (then == now) return Status::Ok();
    return FailedPrecondition(reason::CHECKPOINT_INVALID,
                              path + ": " + key + ": expected " + now + ", the weights of " +
                                  cell.init + ", got " + then +
                                  "; remove the folder of this run, so that it is trained anew")
        .WithField(path);
  }

  Status MarkDiverged(const std::string& cell, const std::string& why) const {
    context_.Message(cell + " takes no part: " + why);
    std::error_code error;
    fs::create_directories(DirOf(cell), error);
    return WriteJsonFile(DirOf(cell) + kDivergedFile, {{"why", why}});
  }

  StatusOr<ChildJob> JobOf(const Cell& cell) const {
    const std::string config = options_.output + "/configs/" + cell.name + ".json";
    std::error_code error;
    fs::create_directories(fs::path(config).parent_path(), error);
    INTERLACER_RETURN_IF_ERROR(WriteJsonFile(config, nlohmann::ordered_json(cell.config)));
    ChildJob job{cell.name,
                 {"train", "--config", config, "--data", options_.data + "/train", "--data",
                  options_.data + "/val", "--seed", std::to_string(cell.seed), "--threads", "1",
                  "--device", options_.device, "--output", DirOf(cell.name), "--resume", "--quiet"},
                 LogOf(cell.name)};
    if (!cell.init.empty()) {
      job.arguments.push_back(cell.takes_appearance_alone ? "--init-appearance" : "--init");
      job.arguments.push_back(DirOf(cell.init) + "/checkpoint");
    }
    return job;
  }

  /// The trials of all variants, and what each of them chose.
  StatusOr<std::vector<Choice>> Search() const {
    std::vector<Cell> all;
    for (const PlannedVariant& variant : plan_.variants) {
      const std::vector<Cell> trials = TrialCells(plan_, variant);
      all.insert(all.end(), trials.begin(), trials.end());
    }
    INTERLACER_RETURN_IF_ERROR(TrainCells("search", all));
    std::vector<Choice> choices;
    nlohmann::ordered_json record = nlohmann::ordered_json::array();
    for (const PlannedVariant& variant : plan_.variants) {
      const std::vector<std::optional<double>> losses =
          TrialLosses(plan_, variant, options_.runs());
      const std::optional<std::size_t> best = ChooseTrial(losses);
      if (!best) {
        return FailedPrecondition(reason::PREDICTION_NOT_FINITE,
                                  "no trial of " + variant.name + " ended with a finite loss")
            .WithField(DirOf("search"));
      }
      choices.push_back(ChoiceOf(plan_, *best));
      record.push_back(RecordOf(variant, *best));
    }
    INTERLACER_RETURN_IF_ERROR(WriteJsonFile(options_.output + "/choices.json", record));
    return choices;
  }

  /// All variants of a seed before the next seed, or the repeated run alone.
  std::vector<Cell> RunsOf(std::size_t stage, const std::vector<Choice>& choices) const {
    std::vector<Cell> cells;
    for (std::size_t v = 0; v < plan_.variants.size(); ++v) {
      const auto runs = StageCells(plan_, plan_.variants[v], stage, choices[v]);
      cells.insert(cells.end(), runs.begin(), runs.end());
    }
    std::erase_if(cells, [&](const Cell& cell) {
      return IsRepeated() && !cell.name.ends_with("/" + options_.repeated_run);
    });
    const auto place = [&](std::int64_t seed) {
      return std::find(plan_.seeds.begin(), plan_.seeds.end(), seed);
    };
    std::stable_sort(cells.begin(), cells.end(),
                     [&](const Cell& a, const Cell& b) { return place(a.seed) < place(b.seed); });
    return cells;
  }

  Status Freeze(const std::vector<Cell>& cells) const {
    nlohmann::ordered_json frozen{{"schema", "interlacer.frozen_runs"}, {"schema_version", 1}};
    for (const Cell& cell : cells) {
      if (HasDiverged(cell)) continue;
      INTERLACER_ASSIGN_OR_RETURN(frozen["weights_sha256"][cell.name],
                                  Sha256OfFile(DirOf(cell.name) + "/checkpoint/" + kWeightsFile));
    }
    const std::string path = options_.output + "/frozen.json";
    if (!Exists(path)) {
      if (Exists(options_.test())) {
        return FailedPrecondition(reason::OUTPUT_EXISTS,
                                  "test episodes are there before the runs were frozen")
            .WithField(options_.test());
      }
      return WriteJsonFile(path, frozen);
    }
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json first, ReadJsonFile(path));
    const nlohmann::json patch = nlohmann::json::diff(first, nlohmann::json(frozen));
    if (patch.empty()) return Status::Ok();
    return FailedPrecondition(reason::CHECKPOINT_INVALID,
                              "expected the weights that were frozen before the test episodes were "
                              "made, got others at " +
                                  patch[0].value("path", ""))
        .WithField(path);
  }

  const StudyPlan& plan_;
  const PlannedStudyOptions& options_;
  const VerbContext& context_;
};

}  // namespace

Status KeepOneRun(const std::string& run, StudyPlan* plan) {
  for (const PlannedVariant& variant : plan->variants) {
    for (const std::int64_t seed : plan->seeds) {
      if (run != variant.name + "-" + std::to_string(seed)) continue;
      plan->variants = {PlannedVariant(variant)};
      plan->seeds = {seed};
      return Status::Ok();
    }
  }
  return Mismatch(reason::ARGUMENT_INVALID, "--repeat",
                  "a run of the plan, such as " + plan->variants.front().name + "-" +
                      std::to_string(plan->seeds.front()),
                  run);
}

StatusOr<std::set<std::string>> MakePlannedRuns(const StudyPlan& plan,
                                                const PlannedStudyOptions& options,
                                                const VerbContext& context) {
  return PlannedStudy(plan, options, context).Make();
}

}  // namespace interlacer::cli
