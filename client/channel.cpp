#include "client/channel.h"

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "client/proxy.h"
#include "client/service_config.h"
#include "common/address.h"
#include "common/file_io.h"

namespace interlacer {
namespace {

constexpr int kKeepalivePeriodMs = 30'000;
/// The library's first pause is a second, too long where a proxy has another server at hand.
constexpr int kFirstReconnectPauseMs = 100;

/// Certificates and keys are a few kilobytes.
constexpr std::int64_t kMaxPemBytes = 1 << 20;

StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(
    const std::optional<TlsFiles>& tls) {
  if (!tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  INTERLACER_ASSIGN_OR_RETURN(options.pem_root_certs, ReadTextFile(tls->authority, kMaxPemBytes));
  if (tls->certificate.empty() != tls->key.empty()) {
    return Mismatch(
        reason::ARGUMENT_INVALID, "tls", "a certificate and its key, or neither",
        tls->key.empty() ? "a certificate without a key" : "a key without a certificate");
  }
  if (tls->certificate.empty()) return grpc::SslCredentials(options);
  INTERLACER_ASSIGN_OR_RETURN(options.pem_cert_chain, ReadTextFile(tls->certificate, kMaxPemBytes));
  INTERLACER_ASSIGN_OR_RETURN(options.pem_private_key, ReadTextFile(tls->key, kMaxPemBytes));
  return grpc::SslCredentials(options);
}

}  // namespace

StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const ClientOptions& options) {
  INTERLACER_RETURN_IF_ERROR(CheckServerAddress(options.address));
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
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectPauseMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectPauseMs);
  if (options.retry) {
    arguments.SetServiceConfigJSON(kServiceConfigJson);
    // A message that does not fit is sent once only; the default is 256 KiB.
    arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE,
                     static_cast<int>(options.max_message_bytes));
  }
  if (IsLocalAddress(options.address)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  INTERLACER_ASSIGN_OR_RETURN(const auto credentials, MakeCredentials(options.tls));
  return grpc::CreateCustomChannel(options.address, credentials, arguments);
}

}  // namespace interlacer
