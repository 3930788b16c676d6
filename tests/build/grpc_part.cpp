#include <grpcpp/grpcpp.h>

#include "interlacer/v1/interlacer_service.grpc.pb.h"
#include "tests/build/parts.h"

namespace interlacer::one_process {
namespace {

class CountingService final : public v1::InterlacerService::Service {
 public:
  explicit CountingService(int messages) : messages_(messages) {}

  grpc::Status PredictRollout(grpc::ServerContext*, const v1::PredictRolloutRequest*,
                              grpc::ServerWriter<v1::PredictRolloutResponse>* writer) override {
    for (int i = 0; i < messages_; ++i) writer->Write(v1::PredictRolloutResponse());
    return grpc::Status::OK;
  }

 private:
  const int messages_;
};

}  // namespace

int GrpcStreamedMessages(int sent) {
  CountingService service(sent);
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto stub = v1::InterlacerService::NewStub(server->InProcessChannel({}));

  grpc::ClientContext context;
  const auto reader = stub->PredictRollout(&context, v1::PredictRolloutRequest());
  v1::PredictRolloutResponse message;
  int received = 0;
  while (reader->Read(&message)) ++received;
  return reader->Finish().ok() ? received : -1;
}

}  // namespace interlacer::one_process
