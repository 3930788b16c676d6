#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/describe.h"
#include "cli/scene_columns.h"
#include "cli/shipped_models.h"
#include "cli/verbs/plan_parts.h"
#include "common/duration.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "common/version.h"
#include "data/manifest.h"
#include "data/sim/split.h"
#include "data/sim/trial.h"

namespace interlacer::cli {
namespace {

constexpr char kDefaultModel[] = "small";

/// One plan and what its rows brought.
struct Executed {
  Plan plan;
  int row_count = 0;  ///< that were carried out
  double plan_s = 0;
  Vec3d from_m{}, to_m{};  ///< middle of the object
};

nlohmann::ordered_json ExecutedJson(const Executed& executed) {
  nlohmann::ordered_json terms = nlohmann::ordered_json::object();
  for (const auto& [name, value] : executed.plan.terms) terms[name] = value;
  return {{"cost", executed.plan.cost},
          {"excess", executed.plan.excess},
          {"terms", std::move(terms)},
          {"candidate_count", executed.plan.candidate_count},
          {"note", executed.plan.note},
          {"plan_s", executed.plan_s},
          {"rows", RowsJson(executed.plan.rows)},
          {"executed_rows", executed.row_count},
          {"object_from_m", executed.from_m},
          {"object_to_m", executed.to_m}};
}

sim::TrialMotion MotionOf(const PlanRows& rows, int count) {
  sim::TrialMotion motion;
  for (int r = 0; r < count; ++r) motion.rows.emplace_back(rows.Row(r).begin(), rows.Row(r).end());
  return motion;
}

/// A rgb8 view a camera, as the cameras stand.
OutputOptions ViewsOf(const SceneInput& scene) {
  OutputOptions output;
  for (const RgbdView& view : scene.observations.back().views) {
    RenderTarget target;
    target.name = target.scene_camera_name = view.camera_name;
    output.render_targets.push_back(std::move(target));
  }
  return output;
}

Status WriteSeen(const sim::Trial& trial, const std::string& folder_name,
                 const OutputFolder& folder) {
  const SceneInput seen = trial.Observe();
  for (const RgbdView& view : seen.observations.back().views) {
    INTERLACER_ASSIGN_OR_RETURN(const std::string path, folder.FilePath(folder_name + "/seen_" +
                                                                        view.camera_name + ".png"));
    INTERLACER_RETURN_IF_ERROR(WritePngFile(view.color, path));
  }
  return Status::Ok();
}

}  // namespace

StatusOr<ExitCode> RunExecutedPlans(PlanArguments arguments, const VerbContext& context) {
  if (!arguments.other_servers.empty() || !arguments.initial_file.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--execute", "no --fan-out and no --initial",
                    "one of them");
  }
  BackendOptions chosen = arguments.backend;
  if (chosen.model_dir.empty() && chosen.server.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(chosen.model_dir, FindShippedModel(kDefaultModel));
    chosen.model_name = kDefaultModel;
  }
  INTERLACER_RETURN_IF_ERROR(ReadCosts(arguments.cost_file).status());
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<RolloutBackend> backend, MakeBackend(chosen));
  const ModelMetadata& metadata = backend->metadata();
  sim::SimulateOptions& options = arguments.sim;
  INTERLACER_ASSIGN_OR_RETURN(options.split, sim::ParseSplit(arguments.split));
  INTERLACER_ASSIGN_OR_RETURN(OutputFolder folder,
                              OutputFolder::Create(arguments.output, kPlanFile, arguments.force,
                                                   {arguments.cost_file, chosen.model_dir}));
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<sim::Trial> trial, sim::MakeTrial(options));
  const Vec3d first_m = trial->ObjectM();
  PlannerOptions& planner = arguments.planner;
  planner.method = arguments.method == "cem" ? PlanMethod::kCem : PlanMethod::kMppi;
  if (arguments.budget_s > 0) planner.budget_s = arguments.budget_s;
  const int row_count = arguments.execute_row_count > 0
                            ? std::min(arguments.execute_row_count, planner.horizon)
                            : planner.horizon;
  std::vector<Executed> all;
  PlanRows carried_out;
  std::optional<PlanRows> initial;
  const std::vector<int> asked_steps = planner.output.steps;
  const auto progress = context.MakeProgress("plans", arguments.execute_count);
  INTERLACER_RETURN_IF_ERROR(WriteSeen(*trial, "plan_00", folder));
  for (int number = 1; number <= arguments.execute_count; ++number) {
    const SceneInput scene = trial->Observe();
    Executed executed;
    executed.from_m = trial->ObjectM();
    const auto start = std::chrono::steady_clock::now();
    Vec3d shift_m{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      shift_m[axis] = executed.from_m[axis] - first_m[axis];
    }
    INTERLACER_ASSIGN_OR_RETURN(const CostFile costs, ReadCosts(arguments.cost_file, shift_m));
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> at, StartRow(scene));
    planner.columns = ColumnsOfScene(scene, metadata);
    INTERLACER_ASSIGN_OR_RETURN(planner.deviation, Deviations(arguments, planner.columns));
    planner.output.steps = asked_steps;
    for (int step = 1; costs.needs_all_steps && step <= planner.horizon; ++step) {
      planner.output.steps.push_back(step);
    }
    INTERLACER_ASSIGN_OR_RETURN(const auto source, backend->OpenScene(scene));
    INTERLACER_ASSIGN_OR_RETURN(
        executed.plan, MakePlan(source.get(), costs.terms, planner, at, initial, context.stop()));
    executed.plan_s = SecondsSince(start);
    executed.row_count = row_count;
    const std::string name = Format("plan_%02d", number);
    INTERLACER_RETURN_IF_ERROR(WritePlannedViews(executed.plan, scene, ViewsOf(scene),
                                                 backend.get(), folder, name + "/predicted",
                                                 name + "/strip.png", context.stop()));
    trial->Execute(MotionOf(executed.plan.rows, row_count));
    executed.to_m = trial->ObjectM();
    INTERLACER_RETURN_IF_ERROR(WriteSeen(*trial, name, folder));
    carried_out.column_count = executed.plan.rows.column_count;
    carried_out.row_count += row_count;
    const auto& rows = executed.plan.rows.values;
    carried_out.values.insert(carried_out.values.end(), rows.begin(),
                              rows.begin() + row_count * carried_out.column_count);
    initial = executed.plan.Shifted(row_count);
    progress->Update(number, Format("cost %.6g", executed.plan.cost));
    all.push_back(std::move(executed));
  }
  progress->Finish();
  INTERLACER_RETURN_IF_ERROR(WriteRows(carried_out, planner.columns, folder));
  nlohmann::ordered_json json = {{"schema", "interlacer.executed_plan"},
                                 {"schema_version", 1},
                                 {"tool_version", kVersion},
                                 {"command", context.command_line()},
                                 {"created_time", CurrentTimeRfc3339()},
                                 {"task", options.task},
                                 {"split", sim::NameOf(options.split)},
                                 {"scene_seed", options.seed},
                                 {"seed", planner.seed},
                                 {"method", arguments.method},
                                 {"horizon", planner.horizon},
                                 {"location", backend->location()},
                                 {"device", backend->device_name()},
                                 {"model", ToJson(metadata)},
                                 {"arm_collided", trial->ArmCollided()}};
  std::string text;
  for (const Executed& executed : all) {
    json["plans"].push_back(ExecutedJson(executed));
    const Vec3d &a = executed.from_m, &b = executed.to_m;
    text += Format("cost %.6g in %.1f s; the object went from %.3f %.3f %.3f to %.3f %.3f %.3f\n",
                   executed.plan.cost, executed.plan_s, a[0], a[1], a[2], b[0], b[1], b[2]);
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::string path, folder.FilePath(kPlanFile));
  INTERLACER_RETURN_IF_ERROR(WriteJsonFile(path, json));
  INTERLACER_RETURN_IF_ERROR(folder.Commit());
  context.Result(json, text + "written to " + arguments.output + "\n");
  return kExitDone;
}

}  // namespace interlacer::cli
