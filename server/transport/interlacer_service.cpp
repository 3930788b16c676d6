#include "server/transport/interlacer_service.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "server/calls/incoming_call.h"
#include "server/handlers/create_scene.h"
#include "server/handlers/delete_scene.h"
#include "server/handlers/get_model_metadata.h"
#include "server/handlers/get_server_info.h"
#include "server/handlers/get_statistics.h"
#include "server/handlers/predict_candidates.h"
#include "server/handlers/predict_rollout.h"
#include "server/handlers/update_scene.h"
#include "server/handlers/validate_scene.h"
#include "server/transport/front_door.h"
#include "server/transport/response_sinks.h"

namespace interlacer {
namespace {

IncomingCall Incoming(const grpc::CallbackServerContext& context, const char* method,
                      const grpc::ByteBuffer& request) {
  IncomingCall call = ReadContext(context, method, request);
  call.record.peer = FrontDoor::ClientName(call.record.peer);
  return call;
}

UnarySink* NewUnarySink(const ServerContext& server, grpc::CallbackServerContext* context,
                        grpc::ByteBuffer* response) {
  return new UnarySink(context, response, &server.calls);
}

StreamSink* NewStreamSink(const ServerContext& server, grpc::CallbackServerContext* context) {
  return new StreamSink(context, server.limits.max_buffered_messages,
                        server.limits.max_buffered_bytes, &server.calls);
}

/// Frees what nobody needs any more of a request: the library would keep its bytes until the client
/// has read the answer, if ever. Frames that are still to be decoded are held by their
/// PixelPayloads. The object is the library's and no constant; it does not look at it again.
void DropRequest(const IncomingCall& call) { const_cast<grpc::ByteBuffer*>(call.request)->Clear(); }

/// Parses the request, calls `handler` (request -> StatusOr<response>) and responds, all on this
/// thread.
template <typename Request, typename Handler>
UnarySink* AnswerNow(const ServerContext& server, IncomingCall call, UnarySink* sink,
                     Handler handler) {
  Request request;
  Status status = ParseRequest(*call.request, &request);
  DropRequest(call);
  grpc::ByteBuffer response;
  if (status.ok()) {
    auto answer = handler(request);
    status = answer.status();
    if (answer.ok()) response = SerializeResponse(*answer);
  }
  if (!status.ok()) {
    server.Refuse(call.record, status, sink);
    return sink;
  }
  call.record.response_bytes = static_cast<std::int64_t>(response.Length());
  server.Count(call.record, status);
  sink->FinishWith(std::move(response));
  LogCall(call.record, status);
  return sink;
}

/// Starts the call that `handler` admits; the device worker runs the rest.
template <typename Sink, typename Handler>
Sink* StartOrRefuse(const ServerContext& server, IncomingCall call, Sink* sink, Handler handler) {
  const std::string method = call.record.method;
  StatusOr<std::shared_ptr<SceneCall>> admitted = handler(server, &call, sink);
  if constexpr (std::is_same_v<Sink, StreamSink>) {
    // Not before the models are there whose weights a recording begins with.
    if (server.recorder != nullptr && server.state.CheckAccepting().ok()) {
      sink->Record({server.recorder, method, *call.request});
    }
  }
  DropRequest(call);
  if (admitted.ok()) {
    (*admitted)->Start();
  } else {
    server.Refuse(call.record, admitted.status(), sink);
  }
  return sink;
}

}  // namespace

grpc::ServerUnaryReactor* InterlacerService::GetServerInfo(Context* context, const Bytes* request,
                                                           Bytes* response) {
  return AnswerNow<wire::GetServerInfoRequest>(
      server_, Incoming(*context, "GetServerInfo", *request),
      NewUnarySink(server_, context, response), [this](const auto&) {
        return StatusOr<wire::GetServerInfoResponse>(interlacer::GetServerInfo(server_));
      });
}

grpc::ServerUnaryReactor* InterlacerService::GetModelMetadata(Context* context,
                                                              const Bytes* request,
                                                              Bytes* response) {
  return AnswerNow<wire::GetModelMetadataRequest>(
      server_, Incoming(*context, "GetModelMetadata", *request),
      NewUnarySink(server_, context, response),
      [this](const auto& message) { return interlacer::GetModelMetadata(server_, message); });
}

grpc::ServerUnaryReactor* InterlacerService::ValidateScene(Context* context, const Bytes* request,
                                                           Bytes* response) {
  return StartOrRefuse(server_, Incoming(*context, "ValidateScene", *request),
                       NewUnarySink(server_, context, response), interlacer::ValidateScene);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* InterlacerService::PredictRollout(
    Context* context, const Bytes* request) {
  return StartOrRefuse(server_, Incoming(*context, "PredictRollout", *request),
                       NewStreamSink(server_, context), interlacer::PredictRollout);
}

grpc::ServerUnaryReactor* InterlacerService::CreateScene(Context* context, const Bytes* request,
                                                         Bytes* response) {
  return StartOrRefuse(server_, Incoming(*context, "CreateScene", *request),
                       NewUnarySink(server_, context, response), interlacer::CreateScene);
}

grpc::ServerUnaryReactor* InterlacerService::UpdateScene(Context* context, const Bytes* request,
                                                         Bytes* response) {
  return StartOrRefuse(server_, Incoming(*context, "UpdateScene", *request),
                       NewUnarySink(server_, context, response), interlacer::UpdateScene);
}

grpc::ServerUnaryReactor* InterlacerService::DeleteScene(Context* context, const Bytes* request,
                                                         Bytes* response) {
  return AnswerNow<wire::DeleteSceneRequest>(
      server_, Incoming(*context, "DeleteScene", *request),
      NewUnarySink(server_, context, response),
      [this](const auto& message) { return interlacer::DeleteScene(server_, message); });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* InterlacerService::PredictCandidates(
    Context* context, const Bytes* request) {
  return StartOrRefuse(server_, Incoming(*context, "PredictCandidates", *request),
                       NewStreamSink(server_, context), interlacer::PredictCandidates);
}

grpc::ServerUnaryReactor* InterlacerService::GetStatistics(Context* context, const Bytes* request,
                                                           Bytes* response) {
  return AnswerNow<wire::GetStatisticsRequest>(
      server_, Incoming(*context, "GetStatistics", *request),
      NewUnarySink(server_, context, response), [this](const auto&) {
        return StatusOr<wire::GetStatisticsResponse>(interlacer::GetStatistics(server_));
      });
}

}  // namespace interlacer
