#pragma once

/// Everything that can be set about a server. Filled by server/options.h; value type.

#include <string>
#include <utility>
#include <vector>

#include "common/device.h"
#include "common/log.h"
#include "server/limits.h"

namespace interlacer {

enum class ReflectionMode { kAuto, kOn, kOff };

struct ServerOptions {
  std::string address = "127.0.0.1:50051";
  /// Empty means no metrics endpoint.
  std::string metrics_address = "127.0.0.1:9464";
  /// Allows an address that is not loopback without TLS.
  bool insecure = false;
  /// kAuto: on for loopback addresses.
  ReflectionMode reflection = ReflectionMode::kAuto;
  /// Name and checkpoint folder; the first is the default model.
  std::vector<std::pair<std::string, std::string>> models;
  /// Serves with the models that can be loaded.
  bool allow_failed_models = false;
  /// Stores what the warm-up scene of every model gives now, and stops.
  bool record_warm_up = false;
  DeviceRequest device = DeviceRequest::kAuto;
  /// Threads of the kernels; 0 means all.
  int threads = 0;
  int decode_threads = 2;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  Limits limits;
};

/// Whether an address of gRPC's form reaches this machine only: 127.x, localhost, [::1], unix:.
bool IsLoopback(const std::string& address);

}  // namespace interlacer
