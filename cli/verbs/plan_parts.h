#pragma once

/// What planning from an episode and planning in the simulator share. Errors: those of the files
/// and of the planner, naming the option. One thread.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/backend_options.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "client/planner/cost_file.h"
#include "client/planner/planner.h"
#include "client/rollout_backend.h"
#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"
#include "data/sim/simulator.h"
#include "evaluation/prediction_task.h"

namespace interlacer::cli {

inline constexpr char kPlanFile[] = "plan.json";

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
  /// With `execute_count` above 0: plans that are made and carried out in the scene of `sim`, each
  /// for so many of its rows, 0 for all.
  sim::SimulateOptions sim;
  std::string split;
  int execute_count = 0;
  int execute_row_count = 0;
};

/// Points are looked for beside the cost file. Boxes that pick particles are moved by `shift_m`.
StatusOr<CostFile> ReadCosts(const std::string& path, const Vec3d& shift_m = {});

/// A share of each column's range, zero for joints that are not to move.
StatusOr<std::vector<double>> Deviations(const PlanArguments& arguments,
                                         const std::vector<ActionColumn>& columns);

/// Where the robot is; ACTION_KIND for a scene without joint positions.
StatusOr<std::vector<double>> StartRow(const SceneInput& scene);

nlohmann::ordered_json RowsJson(const PlanRows& rows);

/// The predicted views of the plan, rgb8 targets of `output`: each as a file under `views`, and all
/// of them in one picture, a row a camera.
Status WritePlannedViews(const Plan& plan, const SceneInput& input, OutputOptions output,
                         RolloutBackend* backend, const OutputFolder& folder,
                         const std::string& views, const std::string& strip,
                         const std::stop_token& stop);

/// plan.csv, which `predict --actions` takes, and plan.npy.
Status WriteRows(const PlanRows& rows, const std::vector<ActionColumn>& columns,
                 const OutputFolder& folder);

/// `plan --execute`: a plan, its rows carried out in the simulator, what the cameras then show, the
/// next plan from there.
StatusOr<ExitCode> RunExecutedPlans(PlanArguments arguments, const VerbContext& context);

}  // namespace interlacer::cli
