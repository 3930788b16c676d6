#include "client/interlacer_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/call.h"
#include "client/channel.h"
#include "client/convert/geometry.h"
#include "client/convert/requests.h"
#include "client/convert/responses.h"
#include "client/proxy.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "interlacer/v1/interlacer_service.grpc.pb.h"

namespace interlacer {
namespace {

/// Far beyond what a server grants, and within what a message holds.
constexpr double kMaxTimeToLiveS = 1e9;

v1::RequestPriority PriorityToProto(RequestPriority priority) {
  switch (priority) {
    case RequestPriority::kBackground:
      return v1::REQUEST_PRIORITY_BACKGROUND;
    case RequestPriority::kControl:
      return v1::REQUEST_PRIORITY_CONTROL;
    case RequestPriority::kNormal:
      break;
  }
  return v1::REQUEST_PRIORITY_NORMAL;
}

/// The steps that a rollout sends: all from 1 unless `output` names some.
std::vector<int> AskedSteps(const OutputOptions& output, const ActionSequence& actions) {
  if (!output.steps.empty() || actions.kind == ActionKind::kNone) return output.steps;
  std::vector<int> all(static_cast<std::size_t>(actions.row_count));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

class GrpcClient : public Client {
 public:
  GrpcClient(const std::shared_ptr<grpc::Channel>& channel, CallPlace place)
      : place_(std::move(place)),
        service_(v1::InterlacerService::NewStub(channel)),
        health_(grpc::health::v1::Health::NewStub(channel)) {}

  StatusOr<ServerInfo> GetServerInfo(const CallOptions& options) override {
    INTERLACER_ASSIGN_OR_RETURN(const v1::GetServerInfoResponse response,
                                Ask(&Service::GetServerInfo, v1::GetServerInfoRequest(), options));
    return FromProto(response);
  }

  StatusOr<ModelMetadata> GetModelMetadata(const CallOptions& options) override {
    v1::GetModelMetadataRequest request;
    request.set_model_name(options.model_name);
    INTERLACER_ASSIGN_OR_RETURN(const v1::GetModelMetadataResponse response,
                                Ask(&Service::GetModelMetadata, request, options));
    return FromProto(response);
  }

  StatusOr<SceneReport> ValidateScene(const SceneInput& input,
                                      const CallOptions& options) override {
    v1::ValidateSceneRequest request;
    request.set_model_name(options.model_name);
    if (Status s = ToProto(input, options.packing, request.mutable_scene_input()); !s.ok()) {
      return std::move(s).WithFieldPrefix("scene_input");
    }
    INTERLACER_ASSIGN_OR_RETURN(const v1::ValidateSceneResponse response,
                                Ask(&Service::ValidateScene, request, options));
    return FromProto(response.report());
  }

  StatusOr<RolloutSummary> PredictRollout(const SceneInput& input, const ActionSequence& actions,
                                          const OutputOptions& output, const StepCallback& on_step,
                                          const CallOptions& options) override {
    return PredictRolloutFrom(input, actions, output, on_step, options);
  }
  StatusOr<RolloutSummary> PredictRollout(const SceneName& scene, const ActionSequence& actions,
                                          const OutputOptions& output, const StepCallback& on_step,
                                          const CallOptions& options) override {
    return PredictRolloutFrom(scene, actions, output, on_step, options);
  }

  StatusOr<RolloutSummary> PredictCandidates(const SceneInput& input,
                                             const std::vector<ActionSequence>& candidates,
                                             const OutputOptions& output,
                                             const PredictedCandidateCallback& on_candidate,
                                             const CallOptions& options) override {
    return PredictCandidatesFrom(input, candidates, output, on_candidate, options);
  }
  StatusOr<RolloutSummary> PredictCandidates(const SceneName& scene,
                                             const std::vector<ActionSequence>& candidates,
                                             const OutputOptions& output,
                                             const PredictedCandidateCallback& on_candidate,
                                             const CallOptions& options) override {
    return PredictCandidatesFrom(scene, candidates, output, on_candidate, options);
  }

  StatusOr<CreatedScene> CreateScene(const SceneInput& input, double time_to_live_s,
                                     const CallOptions& options) override {
    v1::CreateSceneRequest request;
    request.set_model_name(options.model_name);
    if (!(time_to_live_s >= 0 && time_to_live_s < kMaxTimeToLiveS)) {
      return Mismatch(reason::ARGUMENT_INVALID, "time_to_live_s", "0 or a number of seconds",
                      std::to_string(time_to_live_s));
    }
    SecondsToProto(time_to_live_s, request.mutable_time_to_live());
    if (Status s = ToProto(input, options.packing, request.mutable_scene_input()); !s.ok()) {
      return std::move(s).WithFieldPrefix("scene_input");
    }
    INTERLACER_ASSIGN_OR_RETURN(const v1::CreateSceneResponse response,
                                Ask(&Service::CreateScene, request, options));
    return CreatedScene{response.scene_id(), SecondsFromProto(response.time_to_live()),
                        FromProto(response.report())};
  }

  StatusOr<SceneReport> UpdateScene(const std::string& scene_id, const Observation& observation,
                                    const ActionSequence& row,
                                    const CallOptions& options) override {
    v1::UpdateSceneRequest request;
    request.set_scene_id(scene_id);
    request.set_priority(PriorityToProto(options.priority));
    SceneInput input;
    input.observations = {observation};
    v1::SceneInput packed;
    INTERLACER_RETURN_IF_ERROR(ToProto(input, options.packing, &packed));
    request.mutable_observation()->Swap(packed.mutable_observations(0));
    if (row.kind != ActionKind::kNone) {
      if (Status s = ToProto(row, request.mutable_history_action()); !s.ok()) {
        return std::move(s).WithFieldPrefix("history_action");
      }
    }
    INTERLACER_ASSIGN_OR_RETURN(const v1::UpdateSceneResponse response,
                                Ask(&Service::UpdateScene, request, options));
    return FromProto(response.report());
  }

  Status DeleteScene(const std::string& scene_id, const CallOptions& options) override {
    v1::DeleteSceneRequest request;
    request.set_scene_id(scene_id);
    return Ask(&Service::DeleteScene, request, options).status();
  }

  StatusOr<ServerStatistics> GetStatistics(const CallOptions& options) override {
    INTERLACER_ASSIGN_OR_RETURN(const v1::GetStatisticsResponse response,
                                Ask(&Service::GetStatistics, v1::GetStatisticsRequest(), options));
    return FromProto(response);
  }

  StatusOr<bool> IsServing(const std::string& service, const CallOptions& options) override {
    INTERLACER_RETURN_IF_ERROR(CheckCallOptions(options));
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    Call call(options, kUnaryDeadlineS, place_);
    INTERLACER_RETURN_IF_ERROR(call.Finish(health_->Check(call.context(), request, &response)));
    return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  }

 private:
  using Service = v1::InterlacerService::Stub;

  template <typename Request, typename Response>
  StatusOr<Response> Ask(grpc::Status (Service::*method)(grpc::ClientContext*, const Request&,
                                                         Response*),
                         const Request& request, const CallOptions& options) {
    INTERLACER_RETURN_IF_ERROR(CheckCallOptions(options));
    Call call(options, kUnaryDeadlineS, place_);
    call.Record(request);
    Response response;
    INTERLACER_RETURN_IF_ERROR(
        call.Finish((service_.get()->*method)(call.context(), request, &response)));
    call.Record(response);
    return response;
  }

  static Status FillSource(const SceneInput& input, const CallOptions& options,
                           v1::PredictionSource* source) {
    Status status = ToProto(input, options.packing, source->mutable_scene_input());
    if (status.ok()) return status;
    return std::move(status).WithFieldPrefix("source.scene_input");
  }
  static Status FillSource(const SceneName& scene, const CallOptions& /*options*/,
                           v1::PredictionSource* source) {
    source->set_scene_id(scene.scene_id);
    return Status::Ok();
  }

  /// What requests of both methods have.
  template <typename Source, typename Request>
  static Status FillRequest(const Source& source, const OutputOptions& output,
                            const CallOptions& options, Request* request) {
    request->set_model_name(options.model_name);
    request->set_request_id(options.request_id);
    request->set_priority(PriorityToProto(options.priority));
    INTERLACER_RETURN_IF_ERROR(FillSource(source, options, request->mutable_source()));
    ToProto(output, request->mutable_output());
    return Status::Ok();
  }

  static Status FillActions(const ActionSequence& actions, const std::string& field,
                            v1::ActionSequence* out) {
    if (actions.kind == ActionKind::kNone) return Status::Ok();
    Status status = ToProto(actions, out);
    if (status.ok()) return status;
    return std::move(status).WithFieldPrefix(field);
  }

  /// The box of 16-bit positions; the model is asked for it if it is its own.
  StatusOr<Box> WorkspaceOf(const std::optional<Box>& workspace, const OutputOptions& output,
                            const CallOptions& options) {
    if (output.position_encoding != PositionEncoding::kWorkspaceU16 || workspace) {
      return workspace.value_or(Box{});
    }
    INTERLACER_ASSIGN_OR_RETURN(const ModelMetadata metadata, GetModelMetadata(options));
    return metadata.workspace;
  }

  template <typename Source>
  StatusOr<RolloutSummary> PredictRolloutFrom(const Source& source, const ActionSequence& actions,
                                              const OutputOptions& output,
                                              const StepCallback& on_step,
                                              const CallOptions& options) {
    INTERLACER_RETURN_IF_ERROR(CheckCallOptions(options));
    v1::PredictRolloutRequest request;
    INTERLACER_RETURN_IF_ERROR(FillRequest(source, output, options, &request));
    if (actions.kind != ActionKind::kNone) {
      INTERLACER_RETURN_IF_ERROR(FillActions(actions, "actions", request.mutable_actions()));
    }
    INTERLACER_ASSIGN_OR_RETURN(const Box workspace,
                                WorkspaceOf(source.workspace, output, options));
    Call call(options, kStreamDeadlineS, place_);
    call.Record(request);
    const auto reader = service_->PredictRollout(call.context(), request);
    StepReader steps(AskedSteps(output, actions), output, workspace);
    return ReadAll<v1::PredictRolloutResponse>(
        &call, reader.get(), [&](const v1::PredictRolloutResponse& response) -> Status {
          if (response.has_step()) {
            INTERLACER_ASSIGN_OR_RETURN(PredictedStep step, steps.Read(response.step()));
            INTERLACER_RETURN_IF_ERROR(on_step(std::move(step)));
          }
          return response.has_summary() ? steps.CheckComplete() : Status::Ok();
        });
  }

  template <typename Source>
  StatusOr<RolloutSummary> PredictCandidatesFrom(const Source& source,
                                                 const std::vector<ActionSequence>& candidates,
                                                 const OutputOptions& output,
                                                 const PredictedCandidateCallback& on_candidate,
                                                 const CallOptions& options) {
    INTERLACER_RETURN_IF_ERROR(CheckCallOptions(options));
    v1::PredictCandidatesRequest request;
    INTERLACER_RETURN_IF_ERROR(FillRequest(source, output, options, &request));
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      INTERLACER_RETURN_IF_ERROR(FillActions(candidates[i], "candidates[" + std::to_string(i) + "]",
                                             request.add_candidates()));
    }
    INTERLACER_ASSIGN_OR_RETURN(const Box workspace,
                                WorkspaceOf(source.workspace, output, options));
    Call call(options, kStreamDeadlineS, place_);
    call.Record(request);
    const auto reader = service_->PredictCandidates(call.context(), request);
    std::vector<int> asked = candidates.empty() ? output.steps : AskedSteps(output, candidates[0]);
    if (output.steps.empty() && !asked.empty()) asked = {asked.back()};
    std::vector<bool> is_answered(candidates.size(), false);
    return ReadAll<v1::PredictCandidatesResponse>(
        &call, reader.get(), [&](const v1::PredictCandidatesResponse& response) -> Status {
          const std::int64_t index = response.candidate_index();
          if (index < 0 || index >= static_cast<std::int64_t>(candidates.size()) ||
              is_answered[static_cast<std::size_t>(index)]) {
            return MalformedAnswer(
                "candidate_index",
                "each of " + std::to_string(candidates.size()) + " from 0 on, once",
                std::to_string(index));
          }
          is_answered[static_cast<std::size_t>(index)] = true;
          PredictedCandidate candidate{
              response.candidate_index(), {}, response.failure_reason(), response.failed_step()};
          StepReader steps(asked, output, workspace);
          for (const v1::PredictedStep& step : response.steps()) {
            INTERLACER_ASSIGN_OR_RETURN(PredictedStep plain, steps.Read(step));
            candidate.steps.push_back(std::move(plain));
          }
          if (candidate.failure_reason.empty()) INTERLACER_RETURN_IF_ERROR(steps.CheckComplete());
          INTERLACER_RETURN_IF_ERROR(on_candidate(std::move(candidate)));
          const auto missing = std::find(is_answered.begin(), is_answered.end(), false);
          if (!response.has_summary() || missing == is_answered.end()) return Status::Ok();
          return MalformedAnswer("candidate_index", std::to_string(missing - is_answered.begin()),
                                 "none");
        });
  }

  /// Passes all responses on, in order; an error of `deliver` cancels the call.
  template <typename Response, typename Deliver>
  static StatusOr<RolloutSummary> ReadAll(Call* call, grpc::ClientReader<Response>* reader,
                                          const Deliver& deliver) {
    Status callback_status;
    std::optional<RolloutSummary> summary;
    Response response;
    while (callback_status.ok() && reader->Read(&response)) {
      call->Record(response);
      callback_status = deliver(response);
      if (response.has_summary()) summary = FromProto(response.summary());
    }
    if (!callback_status.ok()) call->context()->TryCancel();
    const Status status = call->Finish(reader->Finish());
    INTERLACER_RETURN_IF_ERROR(callback_status);
    INTERLACER_RETURN_IF_ERROR(status);
    if (!summary) return Internal("the stream ended without a summary");
    return *std::move(summary);
  }

  const CallPlace place_;
  const std::unique_ptr<Service> service_;
  const std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

}  // namespace

StatusOr<std::unique_ptr<Client>> Client::Create(const ClientOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, MakeChannel(options));
  return std::unique_ptr<Client>(std::make_unique<GrpcClient>(
      channel, CallPlace{ProxyFor(options.address), options.recorder, channel}));
}

}  // namespace interlacer
