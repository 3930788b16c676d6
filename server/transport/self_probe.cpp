#include "server/transport/self_probe.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <memory>

#include "grpc/health/v1/health.grpc.pb.h"
#include "server/transport/health.h"

namespace interlacer {
namespace {

bool Ask(const std::shared_ptr<grpc::Channel>& channel, const std::stop_token& stop,
         std::chrono::system_clock::time_point limit) {
  const auto health = grpc::health::v1::Health::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(limit);
  const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(kHealthLiveName);
  grpc::health::v1::HealthCheckResponse response;
  return health->Check(&context, request, &response).ok() &&
         response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
}

}  // namespace

bool AnswersAsLive(const std::string& address, const std::stop_token& stop,
                   std::chrono::system_clock::time_point limit) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // no connection of before
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return Ask(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments),
             stop, limit);
}

bool AnswersAsLive(int fd, const std::stop_token& stop,
                   std::chrono::system_clock::time_point limit) {
  return Ask(grpc::CreateInsecureChannelFromFd("own", fd), stop, limit);
}

}  // namespace interlacer
