#pragma once

/// interlacer.v1.InterlacerService on gRPC's callback API: every method exchanges raw bytes,
/// creates a sink and calls its handler. Handlers never block and never touch the device. Threads:
/// gRPC calls the methods from threads of its own, several at once.

#include <grpcpp/grpcpp.h>

#include "interlacer/v1/interlacer_service.grpc.pb.h"
#include "server/calls/server_context.h"

namespace interlacer {

namespace raw {

using Service = ::interlacer::v1::InterlacerService;
using Base =
    Service::WithRawCallbackMethod_GetServerInfo<Service::WithRawCallbackMethod_GetModelMetadata<
        Service::WithRawCallbackMethod_ValidateScene<Service::WithRawCallbackMethod_CreateScene<
            Service::WithRawCallbackMethod_UpdateScene<Service::WithRawCallbackMethod_DeleteScene<
                Service::WithRawCallbackMethod_PredictRollout<
                    Service::WithRawCallbackMethod_PredictCandidates<
                        Service::WithRawCallbackMethod_GetStatistics<Service::Service>>>>>>>>>;

}  // namespace raw

class InterlacerService final : public raw::Base {
 public:
  using Bytes = grpc::ByteBuffer;
  using Context = grpc::CallbackServerContext;

  /// `server` must outlive the service.
  explicit InterlacerService(const ServerContext* server) : server_(*server) {}

  grpc::ServerUnaryReactor* GetServerInfo(Context* context, const Bytes* request,
                                          Bytes* response) override;
  grpc::ServerUnaryReactor* GetModelMetadata(Context* context, const Bytes* request,
                                             Bytes* response) override;
  grpc::ServerUnaryReactor* ValidateScene(Context* context, const Bytes* request,
                                          Bytes* response) override;
  grpc::ServerUnaryReactor* CreateScene(Context* context, const Bytes* request,
                                        Bytes* response) override;
  grpc::ServerUnaryReactor* UpdateScene(Context* context, const Bytes* request,
                                        Bytes* response) override;
  grpc::ServerUnaryReactor* DeleteScene(Context* context, const Bytes* request,
                                        Bytes* response) override;
  grpc::ServerWriteReactor<Bytes>* PredictRollout(Context* context, const Bytes* request) override;
  grpc::ServerWriteReactor<Bytes>* PredictCandidates(Context* context,
                                                     const Bytes* request) override;
  grpc::ServerUnaryReactor* GetStatistics(Context* context, const Bytes* request,
                                          Bytes* response) override;

 private:
  const ServerContext& server_;
};

}  // namespace interlacer
