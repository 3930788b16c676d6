#pragma once

/// All settings of a server. Filled by server/parse_options.h; value type.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/device.h"
#include "common/log.h"
#include "common/status.h"
#include "server/limits.h"

namespace interlacer {

enum class ReflectionMode { kAuto, kOn, kOff };

/// PEM files of a server that speaks TLS, and the names of the clients that may call; none listed:
/// every client that the authority vouches for. No file: no TLS.
struct TlsServerFiles {
  std::string certificate;
  std::string key;
  std::string client_authority;
  std::vector<std::string> clients{};
  bool is_set() const { return !certificate.empty(); }
};

struct ServerOptions {
  std::string address = "127.0.0.1:50051";
  /// Empty means no metrics endpoint.
  std::string metrics_address = "127.0.0.1:9464";
  /// Allows an address that is not loopback without TLS.
  bool insecure = false;
  TlsServerFiles tls{};
  /// kAuto enables reflection for loopback addresses only.
  ReflectionMode reflection = ReflectionMode::kAuto;
  /// Names and checkpoint folders; the first is the default model.
  std::vector<std::pair<std::string, std::string>> models;
  /// Starts serving even when some models cannot be loaded.
  bool allow_failed_models = false;
  /// Stores the present results of every model's warm-up scene, and stops.
  bool record_warm_up = false;
  /// Folder of the flight recorder; empty for none.
  std::string record_dir;
  std::int64_t record_bytes = std::int64_t{1} << 30;
  DeviceRequest device = DeviceRequest::kAuto;
  /// Number of threads of the kernels; 0 means all cores.
  int threads = 0;
  int decode_threads = 2;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  Limits limits;
};

/// Whether an address in gRPC's form is reachable from this machine only: 127.x, localhost, [::1],
/// unix:.
bool IsLoopback(const std::string& address);

/// Whether a server may listen on its addresses: their forms, and TLS or `insecure` beyond
/// loopback. Errors: as CheckListenAddress (common/address.h), or at "metrics_address".
Status CheckAddresses(const ServerOptions& options);

}  // namespace interlacer
