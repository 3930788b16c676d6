
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/backend_options.h"
#include "cli/describe.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/shard.h"
#include "cli/verbs/experiment_plan.h"
#include "cli/verbs/verbs.h"
#include "common/file_io.h"
#include "common/json.h"
#include "common/replaceable_folder.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"
#include "experiments/hdvpd/cells.h"
#include "experiments/hdvpd/episodes.h"
#include "experiments/hdvpd/evaluation.h"
#include "experiments/hdvpd/failures.h"
#include "experiments/hdvpd/page.h"
#include "experiments/hdvpd/published.h"
#include "experiments/hdvpd/record.h"
#include "experiments/hdvpd/relations.h"
#include "experiments/hdvpd/study.h"
#include "experiments/hdvpd/verdicts.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

/// Pictures of the radiance field alone, the paper's renderer, unless a plan asks for others.
PlanOptions FieldPlan() {
  PlanOptions plan;
  plan.render_mode = RenderMode::kField;
  return plan;
}

struct HdvpdArguments {
  std::string plan;
  std::string repeated_run, choices;
  int job_count = 0;
  std::string data;
  std::string runs;
  std::string output;
  std::vector<std::string> variants{std::string(kGrfVariant), std::string(kMessageVariant),
                                    std::string(kUnmaskedVariant)};
  std::vector<std::int64_t> seeds{0, 1, 2};
  std::string split = "test";
  Shard shard;
  std::string background = "white_outside_workspace";
  std::string device = "auto";
  PlanOptions plan_options = FieldPlan();
  std::int64_t episode_limit = 0;
  int strip_count = 4;
  bool no_ablations = false;
  bool force = false;
};

StatusOr<LoadedModel> LoadModel(const std::string& checkpoint_dir, const std::string& device) {
  BackendOptions options;
  options.model_dir = checkpoint_dir;
  options.device = device;
  options.changes = StepChanges::kAsRecorded;
  LoadedModel model;
  INTERLACER_ASSIGN_OR_RETURN(model.backend, MakeBackend(options));
  model.metadata = ToJson(model.backend->metadata());
  return model;
}

StatusOr<StudySetup> SetupOf(const HdvpdArguments& arguments) {
  StudySetup setup;
  setup.dataset_name = fs::path(arguments.data).lexically_normal().filename().string();
  std::error_code error;
  if (fs::exists(fs::path(arguments.data) / kDatasetFile, error)) {
    INTERLACER_ASSIGN_OR_RETURN(const Dataset dataset, ReadDataset(arguments.data));
    setup.dataset_name = dataset.name;
    INTERLACER_ASSIGN_OR_RETURN(setup.dataset_sha256, DatasetSha256(arguments.data));
  }
  setup.split = arguments.split;
  setup.target_background = arguments.background;
  setup.plan = arguments.plan_options;
  setup.plan.paint_outside_white = arguments.background != "none";
  setup.output_dir = arguments.output;
  if (arguments.no_ablations) setup.ablations.clear();
  setup.strip_count = arguments.strip_count;
  setup.load = [device = arguments.device](const std::string& dir) {
    return LoadModel(dir, device);
  };
  return setup;
}

/// Removes only files that this verb writes: the folder may hold others.
void RemoveEarlier(const std::string& output) {
  std::error_code error;
  for (const char* name : {"evaluations", "frames"}) fs::remove_all(fs::path(output) / name, error);
  // The record last, because it marks the folder as ours.
  for (const char* name : {"report.html", "per_step.csv", "per_run.csv", "tables.md", kStudyFile}) {
    fs::remove(fs::path(output) / name, error);
  }
}

/// State of a study when a shard ends.
struct ShardOutcome {
  std::vector<PieceFailure> failures;  ///< of this shard
  std::size_t missing = 0;             ///< pieces that other shards are still to make
};

/// Evaluates the missing pieces of this shard; a piece that fails does not stop the others. Other
/// shards may have made their pieces when it ends.
StatusOr<ShardOutcome> EvaluateShard(const StudySetup& setup, const std::vector<Piece>& pieces,
                                     const Shard& shard, const VerbContext& context) {
  std::vector<const Piece*> mine, theirs;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto found = FindPiece(setup, pieces[i]);
    if (found) continue;
    (shard.Owns(i) ? mine : theirs).push_back(&pieces[i]);
  }
  context.Detail(Format("%zu pieces, %zu to do, %zu of this shard", pieces.size(),
                        mine.size() + theirs.size(), mine.size()));
  const auto progress = context.MakeProgress("evaluate", static_cast<std::int64_t>(mine.size()));
  StudyEvaluator evaluator(setup);
  ShardOutcome outcome;
  std::int64_t done = 0;
  for (const Piece* piece : mine) {
    if (context.stop().stop_requested()) {
      return Cancelled("stopped; the same command goes on after the last finished episode");
    }
    const std::string name = piece->run->name() + ", " + piece->episode->id;
    Status status = evaluator.Evaluate(*piece, context.stop());
    if (EndsStudy(status)) return std::move(status).WithFieldPrefix(name + ":");
    if (!status.ok()) {
      const PieceFailure failure = FailureOf(*piece, status);
      const bool is_new = outcome.failures.empty() || !AreAlike(outcome.failures.back(), failure);
      if (is_new) context.Message(FailureLines({failure}).front());
      outcome.failures.push_back(failure);
      INTERLACER_RETURN_IF_ERROR(WriteFailure(setup, *piece, status));
    }
    progress->Update(++done, name + (status.ok() ? "" : " failed"));
  }
  progress->Finish();
  for (const Piece* piece : theirs) {
    const auto found = FindPiece(setup, *piece);
    if (found) continue;
    const auto failure = FindFailure(setup, *piece);
    if (!failure) ++outcome.missing;
  }
  return outcome;
}

std::string FailuresText(const std::vector<PieceFailure>& failures) {
  std::string text;
  for (const std::string& line : FailureLines(failures)) text += "failed: " + line + "\n";
  return failures.empty() ? "" : text + kRerunHint + "\n";
}

std::string SummaryText(const Study& study, const std::vector<Relation>& relations) {
  std::string text = Format("%-24s", "SSIM at step");
  for (int step = 1; step <= study.step_count(); ++step) text += Format("  %6d", step - 1);
  text += "    mean\n";
  for (const NamedSubject& subject : FigureSubjects(study)) {
    text += Format("%-24s", subject.name.c_str());
    for (int step = 1; step <= study.step_count() + 1; ++step) {
      const auto mean =
          study.Mean(subject.subject, kSsim, step > study.step_count() ? kAllSteps : step,
                     EpisodeGroup::kMoving);
      text += "  " + ScoreText(mean ? std::optional<double>(mean->mean) : std::nullopt, 4);
    }
    text += "\n";
  }
  for (const Relation& r : relations) {
    text += Format("%s  %-18s %s (%s)\n", r.id.c_str(), std::string(OutcomeText(r.outcome)).c_str(),
                   r.text.c_str(), r.numbers.c_str());
  }
  return text + FailuresText(study.failures());
}

Status WriteStudy(const StudyPageInput& page, const nlohmann::ordered_json& json) {
  const Study& study = *page.study;
  const fs::path folder(study.setup().output_dir);
  INTERLACER_RETURN_IF_ERROR(WriteJsonFile((folder / kStudyFile).string(), json));
  INTERLACER_RETURN_IF_ERROR(
      WriteFileAtomic((folder / "per_step.csv").string(), StudyToCsv(study)));
  INTERLACER_RETURN_IF_ERROR(WriteFileAtomic((folder / "per_run.csv").string(), RunsToCsv(study)));
  INTERLACER_RETURN_IF_ERROR(WriteFileAtomic((folder / "tables.md").string(),
                                             StudyToMarkdown(study, page.relations, page.claims)));
  return WriteFileAtomic((folder / "report.html").string(), StudyPageHtml(page));
}

std::string ClaimsText(const std::vector<Claim>& claims) {
  std::string text;
  for (const Claim& claim : claims) {
    text +=
        Format("%s better than %s in %s%s: %s; %s\n", claim.a.name.c_str(), claim.b.name.c_str(),
               MetricHeading(claim.metric).c_str(), claim.is_primary ? " (primary)" : "",
               ClaimVerdictText(claim).c_str(), DifferenceText(claim).c_str());
  }
  return text;
}

ExitCode ExitCodeAfter(const std::vector<PieceFailure>& failures) {
  return failures.empty() ? kExitDone : kExitBadInput;
}

/// A plan whose runs are trained and frozen.
struct TrainedPlan {
  StudyPlan plan;
  std::set<std::string> left_out;
};

/// Scores the runs and writes the page; `trained` is null for runs without a plan.
StatusOr<ExitCode> ScoreRuns(const HdvpdArguments& arguments, const TrainedPlan* trained,
                             const VerbContext& context) {
  const std::set<std::string> left_out = trained ? trained->left_out : std::set<std::string>();
  INTERLACER_ASSIGN_OR_RETURN(
      std::vector<TrainedRun> runs,
      ReadTrainedRuns(arguments.runs, arguments.variants, arguments.seeds, left_out));
  const std::string cells_dir = arguments.output + "/runs";
  for (TrainedRun& run : runs) {
    if (trained == nullptr) continue;
    AddEarlierStages(trained->plan, cells_dir, &run);
  }
  INTERLACER_ASSIGN_OR_RETURN(
      const StudyEpisodes episodes,
      ListStudyEpisodes(arguments.data, arguments.split, arguments.episode_limit));
  INTERLACER_ASSIGN_OR_RETURN(StudySetup setup, SetupOf(arguments));
  if (trained != nullptr) {
    setup.dataset_name = trained->plan.name + ", test";
    setup.ablations.clear();
    // What the field could show of the true frames; observed pixels would show them whole.
    if (setup.plan.render_mode == RenderMode::kField) setup.ablations = {Condition::kTrueFrames};
  }
  if (arguments.force) RemoveEarlier(arguments.output);
  INTERLACER_RETURN_IF_ERROR(MakeFolders(arguments.output));
  INTERLACER_ASSIGN_OR_RETURN(
      const ShardOutcome outcome,
      EvaluateShard(setup, ListPieces(setup, runs, episodes.readable), arguments.shard, context));
  if (outcome.missing > 0) {
    std::vector<PieceFailure> failures = episodes.unreadable;
    failures.insert(failures.end(), outcome.failures.begin(), outcome.failures.end());
    context.Result({{"missing", outcome.missing}, {"failures", FailuresToJson(failures)}},
                   FailuresText(failures) +
                       Format("%zu evaluations of other shards are missing; the page is written by "
                              "the shard that ends last, or by the same command without --shard\n",
                              outcome.missing));
    return ExitCodeAfter(failures);
  }
  INTERLACER_ASSIGN_OR_RETURN(const Study study, Study::Read(setup, runs, episodes));
  StudyPageInput page;
  page.study = &study;
  page.command = context.command_line();
  page.created_time = CurrentTimeRfc3339();
  if (trained != nullptr) {
    page.plan = &trained->plan;
    const StudyPlan& plan = trained->plan;
    page.claims = CheckClaims(study, {plan.primary_metric, plan.VariantNames(), plan.seeds.size()});
    page.cells_dir = cells_dir;
    page.left_out.assign(left_out.begin(), left_out.end());
  } else {
    page.relations = CheckRelations(study);
  }
  const nlohmann::ordered_json json = StudyToJson(study, page.relations, page.claims);
  INTERLACER_RETURN_IF_ERROR(WriteStudy(page, json));
  context.Result(json, SummaryText(study, page.relations) + ClaimsText(page.claims));
  return ExitCodeAfter(study.failures());
}

/// Data, runs, frozen weights and test episodes by the plan, then scores of them.
StatusOr<ExitCode> RunPlan(const HdvpdArguments& given, const VerbContext& context) {
  TrainedPlan trained;
  INTERLACER_ASSIGN_OR_RETURN(trained.plan, ReadStudyPlan(given.plan));
  const StudyPlan whole = trained.plan;
  if (!given.repeated_run.empty()) {
    INTERLACER_RETURN_IF_ERROR(KeepOneRun(given.repeated_run, &trained.plan));
  }
  const StudyPlan& plan = trained.plan;
  PlannedStudyOptions options;
  options.plan_path = given.plan;
  options.output = given.output;
  options.data = given.data;
  options.device = given.device;
  options.repeated_run = given.repeated_run;
  options.choices_path = given.choices;
  if (options.data.empty()) options.data = options.output + "/data";
  INTERLACER_RETURN_IF_ERROR(MakeFolders(options.output));
  options.jobs_at_once =
      given.job_count > 0 ? given.job_count : static_cast<int>(std::thread::hardware_concurrency());
  INTERLACER_ASSIGN_OR_RETURN(trained.left_out, MakePlannedRuns(whole, options, context));
  HdvpdArguments scores = given;
  scores.data = options.test();
  scores.runs = options.runs() + "/" + plan.stages.back().name;
  scores.variants = plan.VariantNames();
  scores.seeds = plan.seeds;
  scores.split = "test";
  scores.plan_options.step_count = plan.rollout_steps;
  scores.plan_options.window_count = plan.window_count;
  scores.plan_options.render_mode = plan.render_mode;
  return ScoreRuns(scores, &trained, context);
}

StatusOr<ExitCode> RunHdvpd(const HdvpdArguments& arguments, const VerbContext& context) {
  if (!arguments.plan.empty()) return RunPlan(arguments, context);
  for (const auto& [option, value] :
       {std::pair{"--data", &arguments.data}, std::pair{"--runs", &arguments.runs}}) {
    if (!value->empty()) continue;
    return Mismatch(reason::ARGUMENT_INVALID, option, "a folder, or --plan", "nothing");
  }
  if (arguments.force) {
    INTERLACER_RETURN_IF_ERROR(CheckReplaceable(arguments.output, kStudyFile));
  }
  return ScoreRuns(arguments, nullptr, context);
}

void AddHdvpd(CLI::App* experiment, VerbTable* verbs) {
  CLI::App* verb = experiment->add_subcommand(
      "hdvpd", "Variants of the local layer on held-out episodes, beside the published figure");
  const auto arguments = std::make_shared<HdvpdArguments>();
  CLI::Option* plan = verb->add_option(
      "--plan", arguments->plan,
      "Plan of a whole study: makes data, search, runs, test episodes, scores and page, as far as "
      "they are missing");
  CLI::Option* repeat =
      verb->add_option("--repeat", arguments->repeated_run,
                       "With --plan, one run alone, <variant>-<seed>, trained and scored again")
          ->needs(plan);
  CLI::Option* choices =
      verb->add_option("--choices", arguments->choices,
                       "With --repeat, choices.json of the study: what its search chose")
          ->check(CLI::ExistingFile)
          ->needs(repeat);
  repeat->needs(choices);
  verb->add_option("--jobs", arguments->job_count,
                   "With --plan, trainings at once, one thread each; default one a core")
      ->check(AboveZero());
  verb->add_option("--data", arguments->data,
                   "Data set; with --plan, the folder of its training and validation episodes "
                   "(default OUTPUT/data)");
  verb->add_option("--runs", arguments->runs,
                   "Folder of the trained runs, <variant>-<seed> as `train` leaves them")
      ->excludes(plan);
  verb->add_option("-o,--output", arguments->output,
                   "Folder to write; what is there and still holds is kept")
      ->required();
  verb->add_option("--variants", arguments->variants,
                   "Kinds of the local layer; each is "
                   "compared with those after it")
      ->delimiter(',')
      ->capture_default_str()
      ->excludes(plan);
  verb->add_option("--seeds", arguments->seeds, "Seeds of the runs")
      ->delimiter(',')
      ->capture_default_str()
      ->excludes(plan);
  verb->add_option("--split", arguments->split, "Split of the data set")
      ->capture_default_str()
      ->excludes(plan);
  verb->add_option("--episodes", arguments->episode_limit,
                   "At most so many episodes, spread over the data set; 0: all")
      ->check(ZeroOrMore())
      ->excludes(plan);
  verb->add_option("--steps", arguments->plan_options.step_count, "Future steps of each rollout")
      ->capture_default_str()
      ->check(RolloutSteps(1))
      ->excludes(plan);
  verb->add_option("--start-step", arguments->plan_options.start_step,
                   "Newest observed step; default the first with a full history")
      ->excludes(plan);
  verb->add_option("--windows", arguments->plan_options.window_count,
                   "Rollouts of an episode, spread over it; one where the arms hold still")
      ->capture_default_str()
      ->check(AboveZero())
      ->excludes(plan);
  verb->add_option("--seed", arguments->plan_options.seed, "Seed of the draw of particles")
      ->capture_default_str()
      ->excludes(plan);
  verb->add_option("--target-background", arguments->background,
                   "True frames: white_outside_workspace or none")
      ->capture_default_str()
      ->check(CLI::IsMember({"white_outside_workspace", "none"}))
      ->excludes(plan);
  verb->add_option("--device", arguments->device, "auto, cpu or cuda")->capture_default_str();
  CLI::Option* shard =
      verb->add_option("--shard",
                       "I/N: this process evaluates one of N shares; all write to one folder")
          ->check(ParsedInto(&arguments->shard, ParseShard))
          ->excludes(plan);
  verb->add_option("--strips", arguments->strip_count, "Episodes whose frames the page shows")
      ->capture_default_str()
      ->check(ZeroOrMore());
  verb->add_flag("--no-ablations", arguments->no_ablations,
                 "Leave out other actions, fewer particles and true frames rendered")
      ->excludes(plan);
  verb->add_flag("--force", arguments->force, "Begin a finished study anew")
      ->excludes(shard)
      ->excludes(plan);
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunHdvpd(*arguments, context); });
}

}  // namespace

void AddExperiment(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb =
      app->add_subcommand("experiment", "The papers' experiments, from runs to a page");
  verb->require_subcommand(1);
  AddHdvpd(verb, verbs);
  AddPlannerExperiment(verb, verbs);
  AddClosedLoopExperiment(verb, verbs);
  AddMasksExperiment(verb, verbs);
  AddMotifsExperiment(verb, verbs);
}

}  // namespace interlacer::cli
