
#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/backend_options.h"
#include "cli/describe.h"
#include "cli/option_checks.h"
#include "cli/output.h"
#include "cli/prediction_options.h"
#include "cli/shipped_models.h"
#include "cli/validation_text.h"
#include "cli/verbs/verbs.h"
#include "common/camera_json.h"
#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/json.h"
#include "common/npy.h"
#include "common/transform_json.h"
#include "common/version.h"
#include "data/manifest.h"
#include "data/point_cloud_io.h"
#include "evaluation/episode_evaluation.h"
#include "evaluation/evaluation_plan.h"
#include "evaluation/metric_definitions.h"
#include "evaluation/rollout_report.h"
#include "evaluation/scene_recorder.h"
#include "evaluation/score_text.h"
#include "evaluation/subjects.h"
#include "robots/robot.h"

namespace interlacer::cli {
namespace {

constexpr char kPredictionFile[] = "prediction.json";

struct PredictOptions {
  std::string episode;
  std::string output;
  BackendOptions backend;
  PredictionRequest request;
  std::string robot_dir;
  std::string actions_file;
  std::string background = "white_outside_workspace";
  std::vector<std::string> subjects;
  bool no_particles = false;
  bool report = false;
  bool force = false;
};

std::string StepName(int step, const char* suffix) { return Format("step_%03d%s", step, suffix); }

Status WriteParticles(const PredictedStep& step, const OutputFolder& folder) {
  INTERLACER_ASSIGN_OR_RETURN(const std::string npy,
                              folder.FilePath("particles/" + StepName(step.step, ".npy")));
  const std::int64_t shape[] = {step.particle_count, 3};
  INTERLACER_RETURN_IF_ERROR(
      WriteFileAtomic(npy, EncodeNpy(std::span<const float>(step.positions_m), shape)));
  if (!step.spread_m.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(const std::string spread,
                                folder.FilePath("particles/" + StepName(step.step, "_spread.npy")));
    INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(
        spread, EncodeNpy(std::span<const float>(step.spread_m), std::span(shape, 1))));
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::string ply,
                              folder.FilePath("particles/" + StepName(step.step, ".ply")));
  const Status status = WritePointCloud(ply, {step.positions_m, step.colors_rgb8});
  // Built without the point-cloud library: the NPY files have the same numbers.
  return status.code() == StatusCode::kUnimplemented ? Status::Ok() : status;
}

/// What each particle counts as in the scores (evaluation/tracked_particles.h).
Status WriteKinds(const EpisodeEvaluation& evaluation, const OutputFolder& folder) {
  for (const auto& [camera, census] : evaluation.censuses) {
    INTERLACER_ASSIGN_OR_RETURN(const std::string path,
                                folder.FilePath("particles/kinds_" + camera + ".npy"));
    INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(path, census.KindsAsNpy()));
  }
  return Status::Ok();
}

Status WriteViews(const std::vector<EvaluatedView>& views, const OutputFolder& folder) {
  for (const EvaluatedView& view : views) {
    INTERLACER_ASSIGN_OR_RETURN(
        const std::string predicted,
        folder.FilePath("views/" + view.camera + "/" + StepName(view.step, ".png")));
    INTERLACER_RETURN_IF_ERROR(WritePngFile(*view.Picture(kModelSubject), predicted));
    if (!view.truth) continue;
    INTERLACER_ASSIGN_OR_RETURN(
        const std::string truth,
        folder.FilePath("truth/" + view.camera + "/" + StepName(view.step, ".png")));
    INTERLACER_RETURN_IF_ERROR(WritePngFile(*view.truth, truth));
  }
  return Status::Ok();
}

nlohmann::ordered_json ScoresJson(const EpisodeEvaluation& evaluation) {
  nlohmann::ordered_json scores = nlohmann::ordered_json::array();
  for (const EvaluatedView& view : evaluation.views) {
    for (const ViewScore& score : view.scores) {
      nlohmann::ordered_json entry = {{"camera", view.camera},
                                      {"is_input_camera", view.is_input},
                                      {"step", view.step},
                                      {"subject", score.subject},
                                      {"metric", score.metric}};
      entry["value"] = score.value ? nlohmann::ordered_json(*score.value) : nullptr;
      if (!score.value) entry["reason"] = score.reason;
      scores.push_back(std::move(entry));
    }
  }
  return scores;
}

/// The rectified cameras of the pictures.
nlohmann::ordered_json CamerasJson(const PredictionTask& task) {
  nlohmann::ordered_json cameras = nlohmann::ordered_json::array();
  for (const TargetView& target : task.targets) {
    const Camera& camera = task.CameraOf(target);
    nlohmann::ordered_json json = {{"name", target.name}};
    WritePinhole(camera, &json);
    json["world_from_camera"] = TransformToJson(camera.world_from_camera);
    cameras.push_back(std::move(json));
  }
  return cameras;
}

nlohmann::ordered_json PredictionJson(const PredictOptions& options, const EpisodeReader& episode,
                                      const PredictionTask& task,
                                      const EpisodeEvaluation& evaluation,
                                      const RolloutBackend& backend, const VerbContext& context) {
  const RolloutSummary& summary = evaluation.summary;
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& finding : summary.findings) findings.push_back(ToJson(finding));
  nlohmann::ordered_json json = {{"schema", "interlacer.prediction"},
                                 {"schema_version", 1},
                                 {"tool_version", kVersion},
                                 {"command", context.command_line()},
                                 {"created_time", CurrentTimeRfc3339()},
                                 {"episode", episode.manifest().episode_id},
                                 {"start_step", task.start_step},
                                 {"step_count", task.step_count},
                                 {"step_duration_s", backend.metadata().step_duration_s},
                                 {"seed", options.request.seed},
                                 {"target_background", options.background},
                                 {"render", NameOf(task.output.render_mode)},
                                 {"cameras", CamerasJson(task)},
                                 {"location", backend.location()},
                                 {"device", backend.device_name()},
                                 {"model", ToJson(backend.metadata())},
                                 {"particle_count", summary.selected_particle_count},
                                 {"durations", ToJson(summary.durations)},
                                 {"findings", findings},
                                 {"metrics", MetricDefinitions()},
                                 {"scores", ScoresJson(evaluation)}};
  // The model's own robot stands in `model`; another may have been moved.
  const std::shared_ptr<const Robot>& robot = task.input.robot;
  if (robot != nullptr) json["robot"] = {{"name", robot->name}, {"sha256", robot->sha256}};
  if (summary.scene_report) json["scene_report"] = ToJson(*summary.scene_report);
  return json;
}

Status WriteReport(const EpisodeReader& episode, const PredictionTask& task,
                   const EpisodeEvaluation& evaluation, const SceneView& scene,
                   const RolloutBackend& backend, const VerbContext& context,
                   const OutputFolder& folder) {
  RolloutReportInput input;
  input.scene = &scene;
  input.manifest = &episode.manifest();
  input.task = &task;
  input.evaluation = &evaluation;
  input.metadata = &backend.metadata();
  input.device = backend.device_name();
  input.location = backend.location();
  input.command = context.command_line();
  input.created_time = CurrentTimeRfc3339();
  input.tool_version = kVersion;
  INTERLACER_ASSIGN_OR_RETURN(const std::string path, folder.FilePath("report.html"));
  return WriteFileAtomic(path, RolloutReportHtml(input));
}

std::string SummaryText(const EpisodeEvaluation& evaluation, const PredictionTask& task,
                        const std::string& output) {
  std::string text = "step  SSIM    kinem.  splat   copy    PSNR\n";
  for (int step = 0; step <= task.step_count; ++step) {
    text += Format("%4d  %-6s  %-6s  %-6s  %-6s  %s\n", step,
                   ScoreText(MeanScore(evaluation, kModelSubject, kSsim, step), 4).c_str(),
                   ScoreText(MeanScore(evaluation, kKinematicSubject, kSsim, step), 4).c_str(),
                   ScoreText(MeanScore(evaluation, kSplat, kSsim, step), 4).c_str(),
                   ScoreText(MeanScore(evaluation, kCopyLast, kSsim, step), 4).c_str(),
                   ScoreText(MeanScore(evaluation, kModelSubject, kPsnr, step), 2).c_str());
  }
  const RolloutSummary& summary = evaluation.summary;
  text += FindingsText(summary.findings);
  if (summary.scene_report) text += FindingsText(summary.scene_report->findings);
  return text + "written to " + output + "\n";
}

std::string ViewsText(const PredictionRequest& request) {
  const auto list = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
    return text;
  };
  std::string text = "static scene: --cameras " + list(request.input_cameras);
  if (!request.target_cameras.empty()) {
    text += " --target-cameras " + list(request.target_cameras);
  }
  return text + " chosen";
}

StatusOr<ExitCode> RunPredict(PredictOptions options, const VerbContext& context) {
  const std::vector<std::string> inputs = {options.episode, options.actions_file, options.robot_dir,
                                           options.backend.model_dir};
  INTERLACER_RETURN_IF_ERROR(CheckNoOutput(options.output, options.force));
  INTERLACER_RETURN_IF_ERROR(CheckInputsOutside(options.output, inputs));
  options.request.paint_outside_white = options.background != "none";
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader recording, EpisodeReader::Open(options.episode));
  if (!options.actions_file.empty() && !recording.manifest().states &&
      !recording.manifest().actions) {
    return Mismatch(reason::ACTION_KIND, "--actions",
                    "an episode with a robot, whose joint values planned rows go on from",
                    options.episode + ", which holds neither states nor actions");
  }
  const EpisodeReader episode = recording.AsStaticViews();
  INTERLACER_ASSIGN_OR_RETURN(options.request.robot, ReadRobotOption(options.robot_dir));
  INTERLACER_ASSIGN_OR_RETURN(options.backend,
                              WithShippedModel(options.backend, options.episode, context));
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<RolloutBackend> backend,
                              MakeBackend(options.backend));
  if (!options.actions_file.empty()) {
    const Robot* const robot =
        options.request.robot ? options.request.robot.get() : recording.robot().get();
    INTERLACER_ASSIGN_OR_RETURN(options.request.actions,
                                ReadActionTable(options.actions_file, robot, backend->metadata()));
  }
  if (options.report) options.request.subjects = SubjectsOfReports();
  if (!options.subjects.empty()) {
    // The prediction itself is what the verb is for, whoever stands beside it.
    options.subjects.push_back(std::string(kModelSubject));
    INTERLACER_ASSIGN_OR_RETURN(options.request.subjects, ParseSubjects(options.subjects));
  }
  const bool is_choice_ours = options.request.input_cameras.empty();
  INTERLACER_ASSIGN_OR_RETURN(
      options.request,
      WithChosenViews(episode.manifest(), backend->metadata(), std::move(options.request)));
  if (is_choice_ours && !options.request.input_cameras.empty()) {
    context.Message(ViewsText(options.request));
  }
  INTERLACER_ASSIGN_OR_RETURN(const PredictionTask task,
                              MakePredictionTask(episode, backend->metadata(), options.request));
  INTERLACER_ASSIGN_OR_RETURN(OutputFolder folder,
                              OutputFolder::Create(options.output, kPredictionFile, options.force));
  context.Detail("predicting " + std::to_string(task.step_count) + " steps on " +
                 backend->device_name());

  const std::unique_ptr<Progress> progress = context.MakeProgress("predict", task.step_count + 1);
  SceneRecorder recorder;
  const auto on_step = [&](const PredictedStep& step, const std::vector<EvaluatedView>& views) {
    if (options.report) recorder.Add(step);
    INTERLACER_RETURN_IF_ERROR(WriteViews(views, folder));
    if (!options.no_particles) INTERLACER_RETURN_IF_ERROR(WriteParticles(step, folder));
    progress->Update(step.step + 1);
    return Status::Ok();
  };
  INTERLACER_ASSIGN_OR_RETURN(
      const EpisodeEvaluation evaluation,
      EvaluateEpisode(episode, task, backend.get(), on_step, context.stop()));
  progress->Finish();
  if (!options.no_particles) INTERLACER_RETURN_IF_ERROR(WriteKinds(evaluation, folder));

  const nlohmann::ordered_json json =
      PredictionJson(options, episode, task, evaluation, *backend, context);
  INTERLACER_ASSIGN_OR_RETURN(const std::string path, folder.FilePath(kPredictionFile));
  INTERLACER_RETURN_IF_ERROR(WriteJsonFile(path, json));
  if (options.report) {
    INTERLACER_RETURN_IF_ERROR(WriteReport(episode, task, evaluation,
                                           recorder.Finish(task, backend->metadata(), evaluation),
                                           *backend, context, folder));
  }
  INTERLACER_RETURN_IF_ERROR(folder.Commit());
  context.Result(
      json, SummaryText(evaluation, task, options.output + (options.report ? "/report.html" : "")));
  return kExitDone;
}

}  // namespace

void AddPredict(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand("predict", "Predict one rollout: views and particles");
  const auto options = std::make_shared<PredictOptions>();
  verb->add_option("episode", options->episode, "Folder of the episode")->required();
  verb->add_option("-o,--output", options->output, "Folder to write")->required();
  AddBackendOptions(verb, &options->backend);
  verb->add_option("--start-step", options->request.start_step,
                   "Newest observed step; default the first with a full history");
  verb->add_option("--steps", options->request.step_count,
                   "Future steps; default 8, or 2 for a static scene")
      ->check(RolloutSteps(0));
  verb->add_option(
          "--cameras", options->request.input_cameras,
          "Episode cameras that act as the model's, such as view_0000,view_0004; default those "
          "with the model's names, in a static scene two that look at the same place")
      ->delimiter(',');
  verb->add_option(
          "--target-cameras", options->request.target_cameras,
          "Further cameras to predict, which the model does not see; default for chosen views "
          "of a static scene: one between them")
      ->delimiter(',');
  AddRenderOption(verb, &options->request.render_mode);
  AddSpreadOption(verb, &options->request.measures_spread);
  options->request.picture_size.of = PictureSize::Of::kRecorded;
  AddPictureSizeOption(verb, &options->request.picture_size);
  AddRobotOption(verb, &options->robot_dir);
  verb->add_option("--actions", options->actions_file,
                   "CSV of planned joint values in place of the episode's: a header of joint names "
                   "in any order, a row for each step; what was recorded is then true of step 0 "
                   "alone")
      ->check(CLI::ExistingFile);
  verb->add_option("--seed", options->request.seed, "Seed of the draw of particles")
      ->capture_default_str();
  verb->add_option("--target-background", options->background,
                   "True frames: white_outside_workspace or none")
      ->capture_default_str()
      ->check(CLI::IsMember({"white_outside_workspace", "none"}));
  verb->add_flag("--no-particles", options->no_particles, "Write no particle files");
  CLI::Option* report =
      verb->add_flag("--report", options->report, "Write report.html, one page that works offline");
  AddSubjectsOption(verb, &options->subjects)->needs(report);
  verb->add_flag("--force", options->force, "Replace existing output");
  verbs->Add(verb, [options](const VerbContext& context) { return RunPredict(*options, context); });
}

}  // namespace interlacer::cli
