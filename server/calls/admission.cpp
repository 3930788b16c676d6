#include "server/calls/admission.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "common/duration.h"
#include "server/convert/actions.h"
#include "server/convert/output_options.h"

namespace interlacer {
namespace {

constexpr int kBackgroundPriority = 0;
constexpr int kNormalPriority = 1;
constexpr int kControlPriority = 2;
/// Memory of an observed pixel that is carried: its frame, its neighbours and weights, where it was
/// and is, and its disc.
constexpr std::int64_t kCarriedPixelBytes = 128;

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
  scene.cost_s = model->metadata.ingest_cost_s;
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
  if (server.calls.waiting_bytes() > server.limits.max_inflight_request_bytes) {
    return ResourceExhausted(reason::HOST_MEMORY, "too many answers wait for their readers")
        .WithMetadata("limit", std::to_string(server.limits.max_inflight_request_bytes));
  }
  // Twice the request: gRPC keeps its bytes until the call ends, and a compressed payload that
  // arrived in pieces is joined for its decoder.
  INTERLACER_ASSIGN_OR_RETURN(
      scene->memory, server.memory.Reserve(2 * call.record.request_bytes +
                                           scene->checked.decoded_bytes + scene->extra_bytes));
  return Status::Ok();
}

/// An upper bound: nothing may be left of what was observed, and all pixels be the field's.
void AddRenderCost(const OutputOptions& output, const ModelMetadata& metadata,
                   AdmittedScene* scene) {
  const RenderedViews views = CountRenderedViews(output, metadata);
  const auto steps = static_cast<double>(output.steps.size());
  scene->cost_s +=
      steps * static_cast<double>(views.pixel_count) / kReferenceViewPx * metadata.render_cost_s;
  if (output.render_mode != RenderMode::kObserved || views.count == 0) return;
  std::int64_t model_pixels = 0;
  for (const CameraSpec& camera : metadata.cameras) {
    model_pixels += std::int64_t{camera.width_px} * camera.height_px;
  }
  const double share =
      static_cast<double>(scene->checked.newest_pixel_count) / static_cast<double>(model_pixels);
  scene->cost_s += steps * static_cast<double>(views.count) * share * metadata.carry_cost_s;
  scene->extra_bytes = kCarriedPixelBytes * scene->checked.newest_pixel_count;
}

const char* KindName(ActionKind kind) {
  switch (kind) {
    case ActionKind::kJointPositions:
      return "joint_positions";
    case ActionKind::kKinematicPoints:
      return "kinematic_points_m";
    case ActionKind::kNone:
      break;
  }
  return "none";
}

StatusOr<ActionSequence> ReadActions(const wire::ActionSequence& sequence,
                                     const ActionSequence& history, const OutputOptions& output,
                                     const ModelMetadata& metadata) {
  auto actions = ToActionSequence(sequence, metadata);
  if (!actions.ok()) return actions.status().WithFieldPrefix("actions");
  // A robot needs no plan if no steps are requested.
  const bool needs_rows = history.kind == ActionKind::kNone || output.steps.back() > 0;
  if (needs_rows && actions->kind != history.kind) {
    return Mismatch(reason::ACTION_KIND, "actions",
                    std::string(KindName(history.kind)) + ", as in the history",
                    KindName(actions->kind));
  }
  if (Status status = CheckStepChanges(history, *actions, metadata); !status.ok()) {
    return std::move(status).WithFieldPrefix("actions");
  }
  return actions;
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
  INTERLACER_ASSIGN_OR_RETURN(const ServedModel* model,
                              FindModel(server, request->model_name(), &call->record));
  const ModelMetadata& metadata = model->metadata;

  if (request->source().has_scene_id()) {
    return Unimplemented(reason::FEATURE_NOT_BUILT, "this server keeps no scenes")
        .WithField("source.scene_id");
  }
  if (!request->source().has_scene_input()) {
    return Mismatch(reason::SOURCE_MISSING, "source", "scene_input", "nothing");
  }
  wire::SceneInput* input = request->mutable_source()->mutable_scene_input();

  AdmittedRollout rollout;
  auto output = ToOutputOptions(request->output(), request->actions(), metadata, server.limits);
  if (!output.ok()) return output.status();
  rollout.output = *std::move(output);
  INTERLACER_RETURN_IF_ERROR(CheckResponseBytes(rollout.output, metadata, server.limits));

  INTERLACER_ASSIGN_OR_RETURN(
      rollout.scene, AdmitScene(server, model, input, std::move(payloads), "source.scene_input"));
  INTERLACER_ASSIGN_OR_RETURN(rollout.actions,
                              ReadActions(request->actions(), rollout.scene.checked.history_actions,
                                          rollout.output, metadata));

  rollout.scene.cost_s += rollout.output.steps.back() * metadata.step_cost_s *
                          (rollout.output.include_spread ? kSpreadStepCount : 1);
  AddRenderCost(rollout.output, metadata, &rollout.scene);
  rollout.scene.priority = ToPriority(request->priority(), &call->record);
  call->record.step_count = rollout.output.steps.back();
  call->record.view_count = static_cast<int>(rollout.output.render_targets.size());
  INTERLACER_RETURN_IF_ERROR(Reserve(server, *call, &rollout.scene));
  return rollout;
}

}  // namespace interlacer
