
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/backend_options.h"
#include "cli/describe.h"
#include "cli/durations.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/prediction_options.h"
#include "cli/scene_columns.h"
#include "cli/shipped_models.h"
#include "cli/verbs/plan_parts.h"
#include "cli/verbs/verbs.h"
#include "client/planner/cost_file.h"
#include "client/planner/fan_out_source.h"
#include "client/planner/planner.h"
#include "common/json.h"
#include "common/version.h"
#include "data/manifest.h"
#include "data/sim/split.h"
#include "evaluation/prediction_task.h"

namespace interlacer::cli {
namespace {

std::optional<PlanRows> RowsOf(const std::optional<ActionSequence>& actions) {
  if (!actions) return std::nullopt;
  return PlanRows{static_cast<int>(actions->row_count),
                  static_cast<int>(actions->column_count),
                  {actions->values.begin(), actions->values.end()}};
}

nlohmann::ordered_json PlanJson(const PlanArguments& arguments, const Plan& plan,
                                const EpisodeManifest& manifest, const PredictionTask& task,
                                const RolloutBackend& backend, const VerbContext& context) {
  nlohmann::ordered_json terms = nlohmann::ordered_json::object();
  for (const auto& [name, value] : plan.terms) terms[name] = value;
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const ActionColumn& column : arguments.planner.columns) names.push_back(column.name);
  return {{"schema", "interlacer.plan"},
          {"schema_version", 1},
          {"tool_version", kVersion},
          {"command", context.command_line()},
          {"created_time", CurrentTimeRfc3339()},
          {"episode", manifest.episode_id},
          {"start_step", task.start_step},
          {"seed", arguments.planner.seed},
          {"method", arguments.method},
          {"horizon", arguments.planner.horizon},
          {"candidate_count", plan.candidate_count},
          {"step_duration_s", backend.metadata().step_duration_s},
          {"location", backend.location()},
          {"fan_out", arguments.other_servers},
          {"device", backend.device_name()},
          {"model", ToJson(backend.metadata())},
          {"cost", plan.cost},
          {"excess", plan.excess},
          {"terms", std::move(terms)},
          {"best_costs", plan.best_costs},
          {"note", plan.note},
          {"columns", std::move(names)},
          {"best", RowsJson(plan.rows)},
          {"mean", RowsJson(plan.mean)}};
}

std::string PlanText(const Plan& plan, const std::string& output) {
  std::string text = Format("cost %.6g", plan.cost);
  for (const auto& [name, value] : plan.terms) text += Format("  %s %.6g", name.c_str(), value);
  if (!plan.note.empty()) text += "\n" + plan.note;
  return text + "\nwritten to " + output + "\n";
}

/// The scene on all servers that share the candidates; `others` are the backends of those beside
/// the first.
StatusOr<std::unique_ptr<CandidateSource>> OpenScenes(
    const PlanArguments& arguments, const SceneInput& input, RolloutBackend* first,
    std::vector<std::unique_ptr<RolloutBackend>>* others, const VerbContext& context) {
  if (arguments.other_servers.empty()) return first->OpenScene(input);
  std::vector<std::unique_ptr<CandidateSource>> sources;
  INTERLACER_ASSIGN_OR_RETURN(sources.emplace_back(), first->OpenScene(input));
  for (const std::string& address : arguments.other_servers) {
    BackendOptions options = arguments.backend;
    options.server = address;
    const Status opened = [&]() -> Status {
      INTERLACER_ASSIGN_OR_RETURN(auto backend, MakeBackend(options));
      INTERLACER_ASSIGN_OR_RETURN(sources.emplace_back(), backend->OpenScene(input));
      others->push_back(std::move(backend));
      return Status();
    }();
    if (opened.ok()) continue;
    if (opened.code() != StatusCode::kUnavailable) {
      return Status(opened.code(), opened.reason(),
                    "--fan-out " + address + ": " + opened.message())
          .WithField("--fan-out");
    }
    context.Message("plans without " + address + ": " + opened.ToString());
  }
  auto shared = FanOutSource::Make(std::move(sources));
  if (!shared.ok()) {
    return Status(shared.status().code(), shared.status().reason(),
                  "--fan-out: " + shared.status().message())
        .WithField("--fan-out");
  }
  return std::unique_ptr<CandidateSource>(*std::move(shared));
}

StatusOr<ExitCode> RunPlan(PlanArguments arguments, const VerbContext& context) {
  if (arguments.execute_count > 0) return RunExecutedPlans(std::move(arguments), context);
  if (!arguments.other_servers.empty() && arguments.backend.server.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--fan-out", "--server beside it", "none");
  }
  INTERLACER_RETURN_IF_ERROR(CheckNoOutput(arguments.output, arguments.force));
  INTERLACER_RETURN_IF_ERROR(CheckInputsOutside(
      arguments.output, {arguments.episode, arguments.cost_file, arguments.initial_file,
                         arguments.robot_dir, arguments.backend.model_dir}));
  INTERLACER_ASSIGN_OR_RETURN(const CostFile costs, ReadCosts(arguments.cost_file));
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode, EpisodeReader::Open(arguments.episode));
  INTERLACER_ASSIGN_OR_RETURN(arguments.request.robot, ReadRobotOption(arguments.robot_dir));
  INTERLACER_ASSIGN_OR_RETURN(arguments.backend,
                              WithShippedModel(arguments.backend, arguments.episode, context));
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<RolloutBackend> backend,
                              MakeBackend(arguments.backend));
  // The scene alone: what was recorded after it is not what is planned.
  arguments.request.step_count = 0;
  INTERLACER_ASSIGN_OR_RETURN(const PredictionTask task,
                              MakePredictionTask(episode, backend->metadata(), arguments.request));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> start, StartRow(task.input));
  PlannerOptions& planner = arguments.planner;
  planner.columns = ColumnsOfScene(task.input, backend->metadata());
  planner.method = arguments.method == "cem" ? PlanMethod::kCem : PlanMethod::kMppi;
  INTERLACER_ASSIGN_OR_RETURN(planner.deviation, Deviations(arguments, planner.columns));
  if (arguments.budget_s > 0) planner.budget_s = arguments.budget_s;
  for (int step = 1; costs.needs_all_steps && step <= planner.horizon; ++step) {
    planner.output.steps.push_back(step);
  }
  std::optional<ActionSequence> initial;
  if (!arguments.initial_file.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(
        initial,
        ReadActionTable(arguments.initial_file, task.input.robot.get(), backend->metadata()));
  }
  INTERLACER_ASSIGN_OR_RETURN(OutputFolder folder,
                              OutputFolder::Create(arguments.output, kPlanFile, arguments.force));
  std::vector<std::unique_ptr<RolloutBackend>> others;
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<CandidateSource> source,
                              OpenScenes(arguments, task.input, backend.get(), &others, context));
  const auto progress = context.MakeProgress("plan", planner.iterations);
  INTERLACER_ASSIGN_OR_RETURN(
      const Plan plan, MakePlan(source.get(), costs.terms, planner, start, RowsOf(initial),
                                context.stop(), [&](int iteration, double best_cost) {
                                  progress->Update(iteration, Format("best cost %.6g", best_cost));
                                }));
  progress->Finish();
  INTERLACER_RETURN_IF_ERROR(WriteRows(plan.rows, planner.columns, folder));
  // A plan is worth its search; its pictures are not worth losing it.
  const Status drawn = WritePlannedViews(plan, task.input, task.output, backend.get(), folder,
                                         "views", "strip.png", context.stop());
  if (!drawn.ok()) context.Message("no pictures of the plan: " + drawn.ToString());
  const nlohmann::ordered_json json =
      PlanJson(arguments, plan, episode.manifest(), task, *backend, context);
  INTERLACER_ASSIGN_OR_RETURN(const std::string path, folder.FilePath(kPlanFile));
  INTERLACER_RETURN_IF_ERROR(WriteJsonFile(path, json));
  INTERLACER_RETURN_IF_ERROR(folder.Commit());
  context.Result(json, PlanText(plan, arguments.output));
  return kExitDone;
}

}  // namespace

void AddPlan(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand(
      "plan", "Search joint values with a low predicted cost, from a step of an episode");
  const auto arguments = std::make_shared<PlanArguments>();
  CLI::Option_group* const scene = verb->add_option_group("scene", "Where it is planned");
  scene->add_option("episode", arguments->episode, "Folder of the episode");
  CLI::Option* const simulate =
      scene->add_option("--simulate", arguments->sim.task,
                        "push_block or lift_can: a scene of the simulator instead of an episode");
  simulate->check(CLI::IsMember({"push_block", "lift_can"}));
  scene->require_option(1);
  verb->add_option("--cost", arguments->cost_file,
                   "JSON of weighted terms, such as the distance of an object to a point")
      ->required()
      ->check(CLI::ExistingFile);
  verb->add_option("-o,--output", arguments->output, "Folder to write")->required();
  AddBackendOptions(verb, &arguments->backend);
  verb->add_option(
          "--fan-out", arguments->other_servers,
          "More servers with the same weights (host:port or unix:PATH), which share the candidates")
      ->delimiter(',');
  PlannerOptions& planner = arguments->planner;
  verb->add_option("--start-step", arguments->request.start_step,
                   "Newest observed step; default the first with a full history");
  verb->add_option("--method", arguments->method, "How the search goes on: cem or mppi")
      ->capture_default_str()
      ->check(CLI::IsMember({"cem", "mppi"}));
  verb->add_option("--horizon", planner.horizon, "Model steps of the plan")->capture_default_str();
  verb->add_option("--candidates", planner.candidate_count, "Candidates of an iteration")
      ->capture_default_str();
  verb->add_option("--iterations", planner.iterations, "Iterations at most")->capture_default_str();
  verb->add_option("--knots", planner.knots, "Rows that are drawn; the others lie between them")
      ->capture_default_str();
  verb->add_option("--action-block", planner.action_block, "Model steps for which a row is held")
      ->capture_default_str();
  verb->add_option("--joints", arguments->joints,
                   "Joints that may move, by name with or without unit; default all")
      ->delimiter(',');
  verb->add_option("--deviation", arguments->deviation_share,
                   "Of the first draws, as a share of each joint's range")
      ->capture_default_str()
      ->check(AboveZero());
  verb->add_option("--initial", arguments->initial_file,
                   "CSV of rows around which the first candidates are drawn, such as an earlier "
                   "plan.csv; default the robot at rest")
      ->check(CLI::ExistingFile);
  verb->add_option("--budget", arguments->budget_s,
                   "Expected time of the search, such as 20s; fewer candidates are drawn within it")
      ->transform(AsSeconds())
      ->check(AboveZero());
  verb->add_option("--seed", planner.seed, "Seed of the candidates")->capture_default_str();
  verb->add_option(
          "--execute", arguments->execute_count,
          "Plans that are made and carried out in the simulator, each from what its "
          "cameras then show; boxes of the cost file that pick particles follow the object")
      ->check(AboveZero())
      ->needs(simulate);
  simulate->needs(verb->get_option("--execute"));
  verb->add_option("--execute-rows", arguments->execute_row_count,
                   "Rows of a plan that are carried out; default all")
      ->check(AboveZero())
      ->needs(simulate);
  verb->add_option("--scene-seed", arguments->sim.seed, "Of the simulated scene")
      ->check(ZeroOrMore())
      ->needs(simulate);
  arguments->split = "test";
  verb->add_option("--split", arguments->split, "Of the simulated scene: train, val or test")
      ->capture_default_str()
      ->check(CLI::IsMember(sim::SplitNames()))
      ->needs(simulate);
  AddRobotOption(verb, &arguments->robot_dir);
  arguments->request.picture_size.of = PictureSize::Of::kRecorded;
  AddPictureSizeOption(verb, &arguments->request.picture_size);
  AddRenderOption(verb, &arguments->request.render_mode);
  // The simulator has its own robot and cameras, and begins at its first step.
  for (const char* of_episode : {"--start-step", "--robot", "--picture-size", "--render"}) {
    simulate->excludes(verb->get_option(of_episode));
  }
  verb->add_flag("--force", arguments->force, "Replace existing output");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunPlan(*arguments, context); });
}

}  // namespace interlacer::cli
