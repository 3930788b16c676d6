#include "server/transport/interlacer_service.h"

#include <utility>

#include "server/calls/incoming_call.h"
#include "server/convert/grpc_status.h"
#include "server/handlers/get_model_metadata.h"
#include "server/handlers/get_server_info.h"
#include "server/handlers/predict_rollout.h"
#include "server/handlers/validate_scene.h"
#include "server/transport/response_sinks.h"

namespace interlacer {
namespace {

UnarySink* NewUnarySink(const ServerContext& server, grpc::ByteBuffer* response) {
  return new UnarySink(response, &server.calls);
}

StreamSink* NewStreamSink(const ServerContext& server, grpc::CallbackServerContext* context) {
  return new StreamSink(context, server.limits.max_buffered_messages,
                        server.limits.max_buffered_bytes, &server.calls);
}

void Finish(const ServerContext& server, IncomingCall call, const Status& status,
            ResponseSink* sink) {
  call.record.response_bytes = sink->sent_bytes();
  server.Count(call.record, status);
  sink->Finish(status);
  LogCall(call.record, status);
}

/// Parses, asks `handler` (request -> StatusOr<response>) and answers, all on this thread. Nobody
/// can wait for such a call or cancel it, so the library's own reactor does: it needs no thread of
/// its own for the end of the call.
template <typename Request, typename Handler>
grpc::ServerUnaryReactor* AnswerNow(const ServerContext& server,
                                    grpc::CallbackServerContext* context, IncomingCall call,
                                    grpc::ByteBuffer* response, Handler handler) {
  Request request;
  Status status = ParseRequest(*call.request, &request);
  if (status.ok()) {
    auto answer = handler(request);
    status = answer.status();
    if (answer.ok()) *response = SerializeResponse(*answer);
  }
  call.record.response_bytes = static_cast<std::int64_t>(response->Length());
  server.Count(call.record, status);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  LogCall(call.record, status);
  return reactor;
}

template <typename Sink>
Sink* RefuseNotBuilt(const ServerContext& server, IncomingCall call, Sink* sink) {
  const Status status =
      Unimplemented(reason::FEATURE_NOT_BUILT, call.record.method + " is not in this build");
  Finish(server, std::move(call), status, sink);
  return sink;
}

}  // namespace

grpc::ServerUnaryReactor* InterlacerService::GetServerInfo(Context* context, const Bytes* request,
                                                           Bytes* response) {
  return AnswerNow<wire::GetServerInfoRequest>(
      server_, context, ReadContext(*context, "GetServerInfo", *request), response,
      [this](const auto&) {
        return StatusOr<wire::GetServerInfoResponse>(interlacer::GetServerInfo(server_));
      });
}

grpc::ServerUnaryReactor* InterlacerService::GetModelMetadata(Context* context,
                                                              const Bytes* request,
                                                              Bytes* response) {
  return AnswerNow<wire::GetModelMetadataRequest>(
      server_, context, ReadContext(*context, "GetModelMetadata", *request), response,
      [this](const auto& message) { return interlacer::GetModelMetadata(server_, message); });
}

grpc::ServerUnaryReactor* InterlacerService::ValidateScene(Context* context, const Bytes* request,
                                                           Bytes* response) {
  UnarySink* sink = NewUnarySink(server_, response);
  StartValidateScene(server_, ReadContext(*context, "ValidateScene", *request), sink);
  return sink;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* InterlacerService::PredictRollout(
    Context* context, const Bytes* request) {
  StreamSink* sink = NewStreamSink(server_, context);
  StartPredictRollout(server_, ReadContext(*context, "PredictRollout", *request), sink);
  return sink;
}

grpc::ServerUnaryReactor* InterlacerService::CreateScene(Context* context, const Bytes* request,
                                                         Bytes* response) {
  return RefuseNotBuilt(server_, ReadContext(*context, "CreateScene", *request),
                        NewUnarySink(server_, response));
}

grpc::ServerUnaryReactor* InterlacerService::DeleteScene(Context* context, const Bytes* request,
                                                         Bytes* response) {
  return RefuseNotBuilt(server_, ReadContext(*context, "DeleteScene", *request),
                        NewUnarySink(server_, response));
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* InterlacerService::PredictCandidates(
    Context* context, const Bytes* request) {
  return RefuseNotBuilt(server_, ReadContext(*context, "PredictCandidates", *request),
                        NewStreamSink(server_, context));
}

grpc::ServerUnaryReactor* InterlacerService::GetStatistics(Context* context, const Bytes* request,
                                                           Bytes* response) {
  return RefuseNotBuilt(server_, ReadContext(*context, "GetStatistics", *request),
                        NewUnarySink(server_, response));
}

}  // namespace interlacer
