#include "client/channel.h"

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <string>

#include "client/proxy.h"
#include "client/service_config.h"

namespace interlacer {
namespace {

constexpr int kKeepalivePeriodMs = 30'000;
/// Longest pause between attempts to connect: a server that has started is found within about this
/// time.
constexpr int kMaxReconnectPauseMs = 1000;

}  // namespace

StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const ClientOptions& options) {
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
  if (IsLocalAddress(options.address)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace interlacer
