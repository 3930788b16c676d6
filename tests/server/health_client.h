#pragma once

/// grpc.health.v1 without its generated code: the request is one string, the answer one number.

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <string>
#include <utility>

namespace interlacer::testing {

enum class Health { kUnknown = 0, kServing = 1, kNotServing = 2, kNoSuchService = 3 };

inline grpc::ByteBuffer HealthRequest(const std::string& service) {
  std::string bytes;
  if (!service.empty()) {
    bytes = std::string("\x0a") + static_cast<char>(service.size()) + service;
  }
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

inline Health ReadHealth(const grpc::ByteBuffer& response) {
  grpc::Slice slice;
  if (!response.DumpToSingleSlice(&slice).ok() || slice.size() < 2) return Health::kUnknown;
  return static_cast<Health>(slice.begin()[1]);
}

/// kUnknown when the answer is NOT_FOUND.
inline Health CheckHealth(const std::shared_ptr<grpc::Channel>& channel,
                          const std::string& service) {
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check",
                                         grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Status status = grpc::internal::BlockingUnaryCall(channel.get(), method, &context,
                                                                HealthRequest(service), &response);
  return status.ok() ? ReadHealth(response) : Health::kUnknown;
}

/// The stream of changes of one service.
class HealthWatch {
 public:
  HealthWatch(std::shared_ptr<grpc::Channel> channel, const std::string& service)
      : channel_(std::move(channel)),
        method_("/grpc.health.v1.Health/Watch", grpc::internal::RpcMethod::SERVER_STREAMING),
        reader_(grpc::internal::ClientReaderFactory<grpc::ByteBuffer>::Create(
            channel_.get(), method_, &context_, HealthRequest(service))) {}
  ~HealthWatch() {
    context_.TryCancel();
    grpc::ByteBuffer rest;
    while (reader_->Read(&rest)) {
    }
    reader_->Finish();
  }

  Health Next() {
    grpc::ByteBuffer response;
    return reader_->Read(&response) ? ReadHealth(response) : Health::kUnknown;
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const grpc::internal::RpcMethod method_;
  grpc::ClientContext context_;
  const std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> reader_;
};

}  // namespace interlacer::testing
