#include "bench/quiet_server.h"

#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "common/log.h"

namespace interlacer::bench {

std::unique_ptr<InterlacerServer> StartQuietServer(ModelSource model) {
  InitLogging(LogLevel::kError, LogFormat::kText);
  ServerOptions options;
  options.address = "127.0.0.1:0";
  options.metrics_address = "";
  auto server = InterlacerServer::Start(options, {std::move(model)});
  if (!server.ok()) throw std::runtime_error(server.status().ToString());
  while ((*server)->state() != ServerState::kServing) {
    if ((*server)->Poll()) throw std::runtime_error("the server cannot serve this model");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return *std::move(server);
}

}  // namespace interlacer::bench
