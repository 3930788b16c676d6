#include "client/interlacer_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "client/convert/geometry.h"
#include "client/convert/requests.h"
#include "client/convert/responses.h"
#include "client/proxy.h"
#include "client/service_config.h"
#include "client/status_from_grpc.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "interlacer/v1/interlacer_service.grpc.pb.h"

namespace interlacer {
namespace {

constexpr int kKeepalivePeriodMs = 30'000;
/// Longest pause between attempts to connect: a server that has started is found within about this
/// time.
constexpr int kMaxReconnectPauseMs = 1000;

/// One call's context: deadline, waiting rule and the link from stop token to cancellation.
class Call {
 public:
  /// `proxy` is the variable of the proxy that the channel may go through, or empty.
  Call(const CallOptions& options, double default_deadline_s, const std::string& proxy)
      : proxy_(proxy),
        deadline_s_(options.deadline_s == 0 ? default_deadline_s : options.deadline_s),
        on_stop_(options.stop, [this] { context_.TryCancel(); }) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::microseconds(std::llround(deadline_s_ * 1e6)));
    context_.set_wait_for_ready(options.wait_for_ready);
  }

  grpc::ClientContext* context() { return &context_; }

  Status Finish(const grpc::Status& status) const {
    Status out = StatusFromGrpc(status);
    const bool is_unreachable =
        out.reason().empty() &&
        (out.code() == StatusCode::kUnavailable || out.code() == StatusCode::kDeadlineExceeded);
    if (is_unreachable && !proxy_.empty()) {
      out = Status(out.code(), "",
                   out.message() + " (the environment sets " + proxy_ +
                       ": the connection goes through that proxy unless no_proxy names the host)");
    }
    if (out.code() != StatusCode::kDeadlineExceeded || !out.reason().empty()) return out;
    return DeadlineExceeded("", "no answer within the deadline of " + std::to_string(deadline_s_) +
                                    " s: " + out.message())
        .WithMetadata("limit", std::to_string(deadline_s_));
  }

 private:
  const std::string& proxy_;
  double deadline_s_;
  grpc::ClientContext context_;
  std::stop_callback<std::function<void()>> on_stop_;
};

Status CheckOptions(const CallOptions& options) {
  if (std::isfinite(options.deadline_s) && options.deadline_s >= 0) return Status::Ok();
  return Mismatch(reason::ARGUMENT_INVALID, "deadline_s", "a positive number of seconds",
                  std::to_string(options.deadline_s));
}

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

class GrpcClient : public Client {
 public:
  GrpcClient(const std::shared_ptr<grpc::Channel>& channel, std::string proxy)
      : proxy_(std::move(proxy)),
        service_(v1::InterlacerService::NewStub(channel)),
        health_(grpc::health::v1::Health::NewStub(channel)) {}

  StatusOr<ServerInfo> GetServerInfo(const CallOptions& options) override {
    INTERLACER_RETURN_IF_ERROR(CheckOptions(options));
    v1::GetServerInfoResponse response;
    Call call(options, kUnaryDeadlineS, proxy_);
    INTERLACER_RETURN_IF_ERROR(call.Finish(service_->GetServerInfo(call.context(), {}, &response)));
    return FromProto(response);
  }

  StatusOr<ModelMetadata> GetModelMetadata(const CallOptions& options) override {
    INTERLACER_RETURN_IF_ERROR(CheckOptions(options));
    v1::GetModelMetadataRequest request;
    request.set_model_name(options.model_name);
    v1::GetModelMetadataResponse response;
    Call call(options, kUnaryDeadlineS, proxy_);
    INTERLACER_RETURN_IF_ERROR(
        call.Finish(service_->GetModelMetadata(call.context(), request, &response)));
    return FromProto(response);
  }

  StatusOr<SceneReport> ValidateScene(const SceneInput& input,
                                      const CallOptions& options) override {
    INTERLACER_RETURN_IF_ERROR(CheckOptions(options));
    v1::ValidateSceneRequest request;
    request.set_model_name(options.model_name);
    if (Status s = ToProto(input, options.packing, request.mutable_scene_input()); !s.ok()) {
      return std::move(s).WithFieldPrefix("scene_input");
    }
    v1::ValidateSceneResponse response;
    Call call(options, kUnaryDeadlineS, proxy_);
    INTERLACER_RETURN_IF_ERROR(
        call.Finish(service_->ValidateScene(call.context(), request, &response)));
    return FromProto(response.report());
  }

  StatusOr<RolloutSummary> PredictRollout(const SceneInput& input, const ActionSequence& actions,
                                          const OutputOptions& output, const StepCallback& on_step,
                                          const CallOptions& options) override {
    INTERLACER_RETURN_IF_ERROR(CheckOptions(options));
    v1::PredictRolloutRequest request;
    INTERLACER_RETURN_IF_ERROR(FillRequest(input, actions, output, options, &request));
    Box workspace = input.workspace.value_or(Box{});
    if (output.position_encoding == PositionEncoding::kWorkspaceU16 && !input.workspace) {
      INTERLACER_ASSIGN_OR_RETURN(const ModelMetadata metadata, GetModelMetadata(options));
      workspace = metadata.workspace;
    }

    Call call(options, kStreamDeadlineS, proxy_);
    const auto reader = service_->PredictRollout(call.context(), request);
    Status callback_status;
    RolloutSummary summary;
    bool has_summary = false;
    v1::PredictRolloutResponse response;
    while (callback_status.ok() && reader->Read(&response)) {
      if (response.has_step()) callback_status = Deliver(response.step(), workspace, on_step);
      if (response.has_summary()) {
        summary = FromProto(response.summary());
        has_summary = true;
      }
    }
    if (!callback_status.ok()) call.context()->TryCancel();
    const Status status = call.Finish(reader->Finish());
    INTERLACER_RETURN_IF_ERROR(callback_status);
    INTERLACER_RETURN_IF_ERROR(status);
    if (!has_summary) return Internal("the stream ended without a summary");
    return summary;
  }

  StatusOr<bool> IsServing(const std::string& service, const CallOptions& options) override {
    INTERLACER_RETURN_IF_ERROR(CheckOptions(options));
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    Call call(options, kUnaryDeadlineS, proxy_);
    INTERLACER_RETURN_IF_ERROR(call.Finish(health_->Check(call.context(), request, &response)));
    return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  }

 private:
  static Status FillRequest(const SceneInput& input, const ActionSequence& actions,
                            const OutputOptions& output, const CallOptions& options,
                            v1::PredictRolloutRequest* request) {
    request->set_model_name(options.model_name);
    request->set_request_id(options.request_id);
    request->set_priority(PriorityToProto(options.priority));
    if (Status s =
            ToProto(input, options.packing, request->mutable_source()->mutable_scene_input());
        !s.ok()) {
      return std::move(s).WithFieldPrefix("source.scene_input");
    }
    if (actions.kind != ActionKind::kNone) {
      if (Status s = ToProto(actions, request->mutable_actions()); !s.ok()) {
        return std::move(s).WithFieldPrefix("actions");
      }
    }
    ToProto(output, request->mutable_output());
    return Status::Ok();
  }

  static Status Deliver(const v1::PredictedStep& step, const Box& workspace,
                        const StepCallback& on_step) {
    INTERLACER_ASSIGN_OR_RETURN(PredictedStep plain, FromProto(step, workspace));
    return on_step(std::move(plain));
  }

  const std::string proxy_;
  const std::unique_ptr<v1::InterlacerService::Stub> service_;
  const std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

}  // namespace

StatusOr<std::unique_ptr<Client>> Client::Create(const ClientOptions& options) {
  if (options.address.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "address", "host:port, dns: or unix: address",
                    "nothing");
  }
  constexpr std::int64_t kMaxInt = 2147483647;
  if (options.max_message_bytes < 1 || options.max_message_bytes > kMaxInt) {
    return Mismatch(reason::ARGUMENT_INVALID, "max_message_bytes",
                    "1 to " + std::to_string(kMaxInt), std::to_string(options.max_message_bytes));
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(options.max_message_bytes));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepalivePeriodMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, options.retry ? 1 : 0);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectPauseMs);
  if (options.retry) {
    arguments.SetServiceConfigJSON(kServiceConfigJson);
    // A message that does not fit is sent once only; the default is 256 KiB.
    arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE,
                     static_cast<int>(options.max_message_bytes));
  }
  const bool is_local = IsLocalAddress(options.address);
  if (is_local) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return std::unique_ptr<Client>(std::make_unique<GrpcClient>(
      grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments),
      is_local ? "" : SettingProxy()));
}

}  // namespace interlacer
