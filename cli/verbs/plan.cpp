
#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "cli/backend_options.h"
#include "cli/describe.h"
#include "cli/durations.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/prediction_options.h"
#include "cli/shipped_models.h"
#include "cli/verbs/verbs.h"
#include "client/planner/cost_file.h"
#include "client/planner/fan_out_source.h"
#include "client/planner/planner.h"
#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "common/npy.h"
#include "common/version.h"
#include "data/csv.h"
#include "data/manifest.h"
#include "data/point_cloud_io.h"
#include "evaluation/prediction_task.h"
#include "robots/joint_values.h"

namespace interlacer::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kPlanFile[] = "plan.json";
/// Between the pictures of strip.png, white.
constexpr int kStripGapPx = 4;

struct PlanArguments {
  std::string episode;
  std::string output;
  std::string cost_file;
  BackendOptions backend;
  PredictionRequest request;
  std::string robot_dir;
  std::string initial_file;
  PlannerOptions planner;
  std::string method = "cem";
  std::vector<std::string> joints;
  std::vector<std::string> other_servers;
  double deviation_share = 0.05;
  double budget_s = 0;
  bool force = false;
};

StatusOr<std::vector<float>> ReadPoints(const fs::path& path) {
  if (path.extension() != ".npy") {
    INTERLACER_ASSIGN_OR_RETURN(PointCloud cloud, ReadPointCloud(path.string()));
    return std::move(cloud.positions_m);
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::uint8_t> bytes, ReadFileBytes(path.string()));
  INTERLACER_ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(bytes));
  if (array.shape.size() != 2 || array.shape[1] != 3) {
    return Mismatch(reason::SHAPE_MISMATCH, path.string(), "points [n,3]", "another shape");
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> values, NpyToDoubles(array));
  return std::vector<float>(values.begin(), values.end());
}

/// Points are looked for beside the cost file.
StatusOr<CostFile> ReadCosts(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ReadJsonFile(path));
  auto costs = ParseCosts(document, [&](const std::string& points) {
    return ReadPoints(fs::path(path).parent_path() / points);
  });
  if (!costs.ok()) return costs.status().WithFieldPrefix(path);
  return costs;
}

/// Of the robot whose rows the scene holds. A joint that turns freely is searched one turn either
/// way.
std::vector<ActionColumn> ColumnsOfScene(const SceneInput& scene, const ModelMetadata& metadata) {
  if (scene.robot == nullptr) return metadata.action_columns;
  const std::vector<std::string> names = ColumnNames(*scene.robot);
  std::vector<ActionColumn> columns;
  for (std::size_t c = 0; c < names.size(); ++c) {
    const RobotJoint& joint =
        scene.robot->links[static_cast<std::size_t>(scene.robot->columns[c])].joint;
    constexpr double kTurn = 2 * std::numbers::pi;
    const JointLimits limits = joint.limits.value_or(JointLimits{-kTurn, kTurn});
    const bool is_length = joint.type == JointType::kPrismatic;
    columns.push_back({names[c], is_length ? ActionUnit::kMeters : ActionUnit::kRadians, limits.min,
                       limits.max, 0});
    for (const ActionColumn& known : metadata.action_columns) {
      if (known.name == names[c]) columns.back().max_step_change = known.max_step_change;
    }
  }
  return columns;
}

/// A share of each column's range, zero for joints that are not to move.
StatusOr<std::vector<double>> Deviations(const PlanArguments& arguments,
                                         const std::vector<ActionColumn>& columns) {
  std::vector<double> deviations(columns.size(), 0);
  const auto is_called = [](const ActionColumn& column, const std::string& joint) {
    return column.name == joint || column.name == joint + "_rad" || column.name == joint + "_m";
  };
  for (const std::string& joint : arguments.joints) {
    if (std::any_of(columns.begin(), columns.end(),
                    [&](const ActionColumn& column) { return is_called(column, joint); })) {
      continue;
    }
    std::string names;
    for (const ActionColumn& column : columns) names += (names.empty() ? "" : ", ") + column.name;
    return Mismatch(reason::ACTION_SHAPE, "--joints", "of " + names, joint);
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool moves = arguments.joints.empty() ||
                       std::any_of(arguments.joints.begin(), arguments.joints.end(),
                                   [&](const auto& joint) { return is_called(columns[c], joint); });
    if (moves) {
      deviations[c] = arguments.deviation_share * (columns[c].max_value - columns[c].min_value);
    }
  }
  return deviations;
}

StatusOr<std::vector<double>> StartRow(const SceneInput& scene) {
  const ActionSequence& history = scene.history_actions;
  if (history.kind != ActionKind::kJointPositions) {
    return Mismatch(reason::ACTION_KIND, "episode", "joint positions of a robot",
                    "an episode without");
  }
  return std::vector<double>(history.values.end() - history.column_count, history.values.end());
}

std::optional<PlanRows> RowsOf(const std::optional<ActionSequence>& actions) {
  if (!actions) return std::nullopt;
  return PlanRows{static_cast<int>(actions->row_count),
                  static_cast<int>(actions->column_count),
                  {actions->values.begin(), actions->values.end()}};
}

nlohmann::ordered_json RowsJson(const PlanRows& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (int r = 0; r < rows.row_count; ++r) {
    json.push_back(std::vector<double>(rows.Row(r).begin(), rows.Row(r).end()));
  }
  return json;
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

/// Rows of pictures of one size each, in one.
RgbImage JoinPictures(const std::vector<std::vector<RgbImage>>& rows) {
  RgbImage joined;
  for (const auto& row : rows) {
    int width_px = 0;
    for (const RgbImage& picture : row) width_px += picture.width_px + kStripGapPx;
    joined.width_px = std::max(joined.width_px, width_px - kStripGapPx);
    joined.height_px += row.front().height_px + kStripGapPx;
  }
  joined.height_px -= kStripGapPx;
  const auto width = static_cast<std::size_t>(joined.width_px);
  joined.pixels.assign(3 * width * static_cast<std::size_t>(joined.height_px), 255);
  std::size_t top = 0;
  for (const auto& row : rows) {
    std::size_t left = 0;
    for (const RgbImage& picture : row) {
      const std::size_t line = 3 * static_cast<std::size_t>(picture.width_px);
      for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height_px); ++y) {
        std::copy_n(
            picture.pixels.begin() + static_cast<std::ptrdiff_t>(y * line), line,
            joined.pixels.begin() + static_cast<std::ptrdiff_t>(3 * ((top + y) * width + left)));
      }
      left += static_cast<std::size_t>(picture.width_px + kStripGapPx);
    }
    top += static_cast<std::size_t>(row.front().height_px + kStripGapPx);
  }
  return joined;
}

/// The predicted views of the plan: each as a file, and all of them in strip.png, a row a camera.
Status WritePlannedViews(const Plan& plan, const PredictionTask& task, RolloutBackend* backend,
                         const OutputFolder& folder, const std::stop_token& stop) {
  OutputOptions output = task.output;
  output.steps.clear();
  for (int step = 0; step <= plan.rows.row_count; ++step) output.steps.push_back(step);
  output.include_positions = output.include_colors = output.include_spread = false;
  std::erase_if(output.render_targets,
                [](const RenderTarget& target) { return target.encoding != ViewEncoding::kRgb8; });
  std::vector<std::vector<RgbImage>> rows(output.render_targets.size());
  const auto on_step = [&](PredictedStep step) {
    for (std::size_t i = 0; i < step.views.size(); ++i) {
      const std::string name = step.views[i].name + Format("/step_%03d.png", step.step);
      INTERLACER_ASSIGN_OR_RETURN(const std::string path, folder.FilePath("views/" + name));
      INTERLACER_RETURN_IF_ERROR(WritePngFile(step.views[i].color, path));
      rows[i].push_back(std::move(step.views[i].color));
    }
    return Status::Ok();
  };
  INTERLACER_RETURN_IF_ERROR(
      backend->Predict(task.input, ToActions(plan.rows), output, on_step, stop).status());
  INTERLACER_ASSIGN_OR_RETURN(const std::string path, folder.FilePath("strip.png"));
  return WritePngFile(JoinPictures(rows), path);
}

/// plan.csv, which `predict --actions` takes, and plan.npy.
Status WriteRows(const Plan& plan, const std::vector<ActionColumn>& columns,
                 const OutputFolder& folder) {
  CsvTable table;
  for (const ActionColumn& column : columns) table.column_names.push_back(column.name);
  table.table.row_count = plan.rows.row_count;
  table.table.column_count = plan.rows.column_count;
  table.table.values = plan.rows.values;
  INTERLACER_ASSIGN_OR_RETURN(const std::string csv, folder.FilePath("plan.csv"));
  INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(csv, FormatCsv(table)));
  INTERLACER_ASSIGN_OR_RETURN(const std::string npy, folder.FilePath("plan.npy"));
  const std::int64_t shape[] = {plan.rows.row_count, plan.rows.column_count};
  return WriteFileAtomic(npy, EncodeNpy(std::span<const double>(plan.rows.values), shape));
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
  if (!arguments.other_servers.empty() && arguments.backend.server.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--fan-out", "--server beside it", "none");
  }
  INTERLACER_RETURN_IF_ERROR(CheckNoOutput(arguments.output, arguments.force));
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
  INTERLACER_RETURN_IF_ERROR(WriteRows(plan, planner.columns, folder));
  // A plan is worth its search; its pictures are not worth losing it.
  const Status drawn = WritePlannedViews(plan, task, backend.get(), folder, context.stop());
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
      "plan", "Searches joint values whose predicted outcome costs little, from an episode's step");
  const auto arguments = std::make_shared<PlanArguments>();
  verb->add_option("episode", arguments->episode, "Folder of the episode")->required();
  verb->add_option("--cost", arguments->cost_file,
                   "JSON of weighted terms, such as the distance of an object to a point")
      ->required()
      ->check(CLI::ExistingFile);
  verb->add_option("-o,--output", arguments->output, "Folder to write")->required();
  AddBackendOptions(verb, &arguments->backend);
  verb->add_option("--fan-out", arguments->other_servers,
                   "Addresses of more servers with the same weights, which share the candidates")
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
      ->transform(AsSeconds());
  verb->add_option("--seed", planner.seed, "Seed of the candidates")->capture_default_str();
  AddRobotOption(verb, &arguments->robot_dir);
  arguments->request.picture_size.of = PictureSize::Of::kRecorded;
  AddPictureSizeOption(verb, &arguments->request.picture_size);
  AddRenderOption(verb, &arguments->request.render_mode);
  verb->add_flag("--force", arguments->force, "Replace existing output");
  verbs->Add(verb,
             [arguments](const VerbContext& context) { return RunPlan(*arguments, context); });
}

}  // namespace interlacer::cli
