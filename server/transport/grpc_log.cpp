#include "server/transport/grpc_log.h"

#include <grpc/support/log.h>

#include "common/log.h"

namespace interlacer {
namespace {

LogLevel LevelOf(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_ERROR:
      return LogLevel::kWarning;  // the server itself reports what stops it
    case GPR_LOG_SEVERITY_INFO:
      return LogLevel::kInfo;
    case GPR_LOG_SEVERITY_DEBUG:
      break;
  }
  return LogLevel::kDebug;
}

void ForwardLine(gpr_log_func_args* line) {
  Log(LevelOf(line->severity), "grpc", {{"text", line->message}});
}

}  // namespace

void LogGrpcLines() { gpr_set_log_function(&ForwardLine); }

}  // namespace interlacer
