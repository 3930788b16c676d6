#include "server/calls/admission.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/duration.h"
#include "common/number_text.h"
#include "common/step_changes.h"
#include "server/convert/actions.h"
#include "server/convert/output_options.h"

namespace interlacer {
namespace {

constexpr int kBackgroundPriority = 0;
constexpr int kNormalPriority = 1;
constexpr int kControlPriority = 2;
/// Memory of an observed pixel of a call that draws views of them (render/observed_renderer.h,
/// model/lifting/observed_scene.h, model/rollout.h), and more while the host draws one.
constexpr std::int64_t kCarriedPixelBytes =
    (3 + 4) +                    // its frame: colour, depth
    (12 + 4 + 3 + 24 + 4 + 4) +  // its surfel: place, size, colour, neighbours, frame, pixel
    (4 + 3 * 4 + 3 * 4) +        // what moves it: link, three particles, their weights
    12;                          // where it is at the step
constexpr std::int64_t kDrawnPixelBytes =
    2 * 12 +   // where it is in the layer of a frame, and with that one's colours preferred
    12 + 56 +  // where it is in the view, its disc
    2 * 4;     // its place in the lists of two bands of rows

int ToPriority(wire::RequestPriority priority, CallRecord* record) {
  switch (priority) {
    case wire::REQUEST_PRIORITY_BACKGROUND:
      record->priority = "background";
      return kBackgroundPriority;
    case wire::REQUEST_PRIORITY_CONTROL:
      record->priority = "control";
      return kControlPriority;
    default:
      return kNormalPriority;
  }
}

StatusOr<const ServedModel*> FindModel(const ServerContext& server, const std::string& name,
                                       CallRecord* record) {
  INTERLACER_ASSIGN_OR_RETURN(const ServedModel* model, server.models.Find(name));
  record->model_name = model->metadata.model_name;
  return model;
}

/// Checks the frames and reserves memory and time for them.
StatusOr<AdmittedScene> AdmitScene(const ServerContext& server, const ServedModel* model,
                                   wire::SceneInput* input, PixelPayloads payloads,
                                   const std::string& field) {
  AdmittedScene scene;
  auto checked = CheckSceneInput(*input, payloads, model->metadata, server.limits);
  if (!checked.ok()) return checked.status().WithFieldPrefix(field);
  scene.model = model;
  scene.checked = *std::move(checked);
  scene.scene_input = std::move(*input);
  scene.payloads = std::move(payloads);
  scene.field = field;
  scene.cost_s = model->costs->LiftS(scene.checked.newest_pixel_count, Clock::now());
  return scene;
}

/// Checks the remaining time, then reserves memory. A call without a deadline has the time that the
/// server gives every call.
Status Reserve(const ServerContext& server, const IncomingCall& call, AdmittedScene* scene) {
  scene->deadline = call.deadline;
  const double limit_s = server.limits.max_call_duration_s;
  if (scene->cost_s > limit_s) {
    return DeadlineExceeded(reason::CALL_TOO_LONG,
                            "the call needs about " + std::to_string(scene->cost_s) +
                                " s, the server allows " + std::to_string(limit_s) + " s")
        .WithMetadata("expected", std::to_string(scene->cost_s))
        .WithMetadata("limit", std::to_string(limit_s));
  }
  const double left_s = std::min(SecondsBetween(Clock::now(), call.deadline), limit_s);
  const double decode_s =
      scene->checked.is_raw ? 0 : server.decoders.CostS(scene->checked.decoded_bytes);
  const double needed_s = decode_s + scene->cost_s + server.worker.CostAheadS(scene->priority);
  if (needed_s > left_s) {
    return DeadlineExceeded(reason::DEADLINE_TOO_SHORT,
                            "the call needs about " + std::to_string(needed_s) +
                                " s with what is ahead of it, the deadline is in " +
                                std::to_string(left_s) + " s")
        .WithMetadata("expected", std::to_string(needed_s))
        .WithMetadata("got", std::to_string(left_s));
  }
  const bool is_urgent = scene->priority == kControlPriority;
  const std::int64_t max_waiting_bytes = server.memory.Share(is_urgent);
  if (server.calls.waiting_bytes() > max_waiting_bytes) {
    return ResourceExhausted(reason::HOST_MEMORY, "too many answers wait for their readers")
        .WithMetadata("limit", std::to_string(max_waiting_bytes));
  }
  // Twice the request: a compressed payload that arrived in pieces is joined for its decoder.
  INTERLACER_ASSIGN_OR_RETURN(
      scene->memory, server.memory.Reserve(2 * call.record.request_bytes +
                                               scene->checked.decoded_bytes + scene->extra_bytes,
                                           is_urgent, scene->unit_bytes));
  return Status::Ok();
}

void AddStepCost(const OutputOptions& output, int rollout_count, AdmittedScene* scene) {
  const ActionKind history = scene->checked.history_actions.kind;
  if (!scene->model->predictor->AsksNetwork(history, output.motion)) return;
  const double steps = 1.0 * rollout_count * output.steps.back();
  scene->cost_s += steps * scene->model->costs->StepS(Clock::now()) *
                   (output.include_spread ? kSpreadStepCount : 1);
}

/// An upper bound: nothing may be left of what was observed, and all pixels be the field's.
void AddRenderCost(const OutputOptions& output, int rollout_count, AdmittedScene* scene) {
  const MeasuredCosts& costs = *scene->model->costs;
  const Clock::time_point now = Clock::now();
  const RenderedViews views = CountRenderedViews(output, scene->model->metadata);
  const double steps = static_cast<double>(output.steps.size()) * rollout_count;
  scene->cost_s += steps * costs.FieldS(views.pixel_count, now);
  if (output.render_mode != RenderMode::kObserved || views.count == 0) return;
  scene->cost_s += steps * static_cast<double>(views.count) *
                   costs.CarryS(scene->checked.newest_pixel_count, now);
  scene->extra_bytes += kCarriedPixelBytes * scene->checked.newest_pixel_count;
  scene->unit_bytes += kDrawnPixelBytes * scene->checked.newest_pixel_count;
}

/// `field` is the path of `sequence`.
StatusOr<ActionSequence> ReadActions(const wire::ActionSequence& sequence, const std::string& field,
                                     const ActionSequence& history, const OutputOptions& output,
                                     const ModelMetadata& metadata) {
  auto actions = ToActionSequence(sequence, metadata);
  if (!actions.ok()) return actions.status().WithFieldPrefix(field);
  // A robot needs no plan if no steps are requested.
  const bool needs_rows = history.kind == ActionKind::kNone || output.steps.back() > 0;
  if (needs_rows && actions->kind != history.kind) {
    return Mismatch(reason::ACTION_KIND, field,
                    std::string(KindName(history.kind)) + ", as in the history",
                    KindName(actions->kind));
  }
  if (Status status = CheckStepChanges(history, *actions, metadata.action_columns); !status.ok()) {
    return std::move(status).WithFieldPrefix(field);
  }
  return actions;
}

/// The scene of an id, which must be of the model that is named beside it, if any is.
StatusOr<SceneLease> FindScene(const ServerContext& server, const std::string& scene_id,
                               const std::string& model_name, CallRecord* record) {
  INTERLACER_ASSIGN_OR_RETURN(SceneLease scene, server.scenes.Find(scene_id, Clock::now()));
  record->model_name = scene->model->metadata.model_name;
  if (!model_name.empty() && model_name != record->model_name) {
    return FailedPrecondition(
               reason::SCENE_MODEL_MISMATCH,
               "the scene is of model " + record->model_name + ", not of " + model_name)
        .WithField("model_name")
        .WithMetadata("expected", record->model_name)
        .WithMetadata("got", model_name);
  }
  return scene;
}

/// Where a prediction starts, before its frames are looked at.
struct NamedSource {
  const ServedModel* model = nullptr;
  /// Null when the request carries frames.
  SceneLease kept;
};

template <typename Request>
StatusOr<NamedSource> FindSource(const ServerContext& server, const Request& request,
                                 CallRecord* record) {
  const std::string& model_name = request.model_name();
  if (!request.source().has_scene_id()) {
    INTERLACER_ASSIGN_OR_RETURN(const ServedModel* model, FindModel(server, model_name, record));
    if (request.source().has_scene_input()) return NamedSource{model, nullptr};
    return Mismatch(reason::SOURCE_MISSING, "source", "scene_input or scene_id", "nothing");
  }
  // A model that is not there is said before a scene that is not.
  if (!model_name.empty()) {
    INTERLACER_RETURN_IF_ERROR(FindModel(server, model_name, record).status());
  }
  auto scene = FindScene(server, request.source().scene_id(), model_name, record);
  if (scene.ok()) return NamedSource{(*scene)->model, *std::move(scene)};
  if (scene.status().reason() != reason::SCENE_NOT_FOUND) return scene.status();
  return scene.status().WithFieldPrefix("source");
}

/// The frames of a source, checked, or the scene that it names.
StatusOr<AdmittedScene> AdmitSource(const ServerContext& server, NamedSource source,
                                    wire::PredictionSource* request, PixelPayloads payloads) {
  if (source.kept == nullptr) {
    return AdmitScene(server, source.model, request->mutable_scene_input(), std::move(payloads),
                      "source.scene_input");
  }
  AdmittedScene scene;
  scene.model = source.model;
  scene.checked = source.kept->checked;
  scene.checked.decoded_bytes = 0;
  scene.checked.is_raw = true;
  scene.kept = std::move(source.kept);
  return scene;
}

/// What a client asked for, up to the longest that is granted; the default when it asked for none.
StatusOr<double> TimeToLive(const google::protobuf::Duration& asked, const Limits& limits) {
  const double seconds = static_cast<double>(asked.seconds()) + 1e-9 * asked.nanos();
  if (!(seconds >= 0)) {
    return Mismatch(reason::ARGUMENT_INVALID, "time_to_live", "0 s or more",
                    NumberText(seconds) + " s");
  }
  return std::min(seconds == 0 ? limits.scene_ttl_s : seconds, limits.max_scene_ttl_s);
}

}  // namespace

StatusOr<AdmittedScene> AdmitValidation(const ServerContext& server,
                                        wire::ValidateSceneRequest* request, PixelPayloads payloads,
                                        IncomingCall* call) {
  INTERLACER_ASSIGN_OR_RETURN(const ServedModel* model,
                              FindModel(server, request->model_name(), &call->record));
  INTERLACER_ASSIGN_OR_RETURN(AdmittedScene scene,
                              AdmitScene(server, model, request->mutable_scene_input(),
                                         std::move(payloads), "scene_input"));
  scene.priority = kNormalPriority;
  INTERLACER_RETURN_IF_ERROR(Reserve(server, *call, &scene));
  return scene;
}

StatusOr<AdmittedRollout> AdmitRollout(const ServerContext& server,
                                       wire::PredictRolloutRequest* request, PixelPayloads payloads,
                                       IncomingCall* call) {
  INTERLACER_RETURN_IF_ERROR(CheckRequestId(request->request_id()));
  if (!request->request_id().empty()) call->record.request_id = request->request_id();
  INTERLACER_ASSIGN_OR_RETURN(NamedSource source, FindSource(server, *request, &call->record));
  const ModelMetadata& metadata = source.model->metadata;

  AdmittedRollout rollout;
  auto output = ToOutputOptions(request->output(), request->actions(), metadata, server.limits);
  if (!output.ok()) return output.status();
  rollout.output = *std::move(output);
  INTERLACER_RETURN_IF_ERROR(
      EstimateResponseBytes(rollout.output, 1, metadata, server.limits).status());

  INTERLACER_ASSIGN_OR_RETURN(
      rollout.scene,
      AdmitSource(server, std::move(source), request->mutable_source(), std::move(payloads)));
  INTERLACER_ASSIGN_OR_RETURN(rollout.actions, ReadActions(request->actions(), "actions",
                                                           rollout.scene.checked.history_actions,
                                                           rollout.output, metadata));

  AddStepCost(rollout.output, 1, &rollout.scene);
  AddRenderCost(rollout.output, 1, &rollout.scene);
  rollout.scene.priority = ToPriority(request->priority(), &call->record);
  call->record.step_count = rollout.output.steps.back();
  call->record.view_count = static_cast<int>(rollout.output.render_targets.size());
  INTERLACER_RETURN_IF_ERROR(Reserve(server, *call, &rollout.scene));
  return rollout;
}

StatusOr<AdmittedCandidates> AdmitCandidates(const ServerContext& server,
                                             wire::PredictCandidatesRequest* request,
                                             PixelPayloads payloads, IncomingCall* call) {
  INTERLACER_RETURN_IF_ERROR(CheckRequestId(request->request_id()));
  if (!request->request_id().empty()) call->record.request_id = request->request_id();
  INTERLACER_ASSIGN_OR_RETURN(NamedSource source, FindSource(server, *request, &call->record));
  const ModelMetadata& metadata = source.model->metadata;

  AdmittedCandidates admitted;
  INTERLACER_ASSIGN_OR_RETURN(admitted.output,
                              ToCandidateOutput(*request, metadata, server.limits));
  const OutputOptions& output = admitted.output;
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t message_bytes,
                              EstimateResponseBytes(output, static_cast<int>(output.steps.size()),
                                                    metadata, server.limits));
  INTERLACER_ASSIGN_OR_RETURN(
      admitted.scene,
      AdmitSource(server, std::move(source), request->mutable_source(), std::move(payloads)));
  const int count = request->candidates_size();
  admitted.candidates.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    INTERLACER_ASSIGN_OR_RETURN(
        ActionSequence actions,
        ReadActions(request->candidates(i), Indexed("candidates", i),
                    admitted.scene.checked.history_actions, output, metadata));
    admitted.candidates.push_back(std::move(actions));
  }

  AddStepCost(output, count, &admitted.scene);
  AddRenderCost(output, count, &admitted.scene);
  // The steps of a candidate are gathered before they are sent.
  admitted.scene.extra_bytes += message_bytes;
  admitted.scene.priority = ToPriority(request->priority(), &call->record);
  call->record.step_count = output.steps.back();
  call->record.candidate_count = count;
  call->record.view_count = static_cast<int>(output.render_targets.size());
  INTERLACER_RETURN_IF_ERROR(Reserve(server, *call, &admitted.scene));
  return admitted;
}

StatusOr<AdmittedCreation> AdmitCreation(const ServerContext& server,
                                         wire::CreateSceneRequest* request, PixelPayloads payloads,
                                         IncomingCall* call) {
  INTERLACER_ASSIGN_OR_RETURN(const ServedModel* model,
                              FindModel(server, request->model_name(), &call->record));
  AdmittedCreation creation;
  INTERLACER_ASSIGN_OR_RETURN(creation.time_to_live_s,
                              TimeToLive(request->time_to_live(), server.limits));
  INTERLACER_ASSIGN_OR_RETURN(creation.place, server.scenes.TakePlace(Clock::now()));
  INTERLACER_ASSIGN_OR_RETURN(
      creation.scene, AdmitScene(server, model, request->mutable_scene_input(), std::move(payloads),
                                 "scene_input"));
  creation.scene.priority = kNormalPriority;
  INTERLACER_RETURN_IF_ERROR(Reserve(server, *call, &creation.scene));
  return creation;
}

StatusOr<AdmittedUpdate> AdmitUpdate(const ServerContext& server, wire::UpdateSceneRequest* request,
                                     PixelPayloads payloads, IncomingCall* call) {
  AdmittedUpdate update;
  INTERLACER_ASSIGN_OR_RETURN(update.before,
                              FindScene(server, request->scene_id(), "", &call->record));
  const ServedModel* model = update.before->model;
  AdmittedScene& scene = update.scene;
  INTERLACER_ASSIGN_OR_RETURN(
      scene.checked,
      CheckNextObservation(request->observation(), request->history_action(), payloads,
                           model->metadata, server.limits, update.before->checked));
  scene.model = model;
  *scene.scene_input.add_observations() = std::move(*request->mutable_observation());
  scene.payloads = std::move(payloads);
  scene.field = "observation";
  scene.cost_s = model->costs->LiftS(scene.checked.newest_pixel_count, Clock::now());
  // The newest frames of the scene are copied.
  for (const RgbdView& view : update.before->scene->newest_views()) {
    scene.extra_bytes += static_cast<std::int64_t>(view.color.pixels.size() +
                                                   sizeof(float) * view.depth.pixels_m.size());
  }
  scene.priority = ToPriority(request->priority(), &call->record);
  INTERLACER_RETURN_IF_ERROR(Reserve(server, *call, &scene));
  return update;
}

}  // namespace interlacer
