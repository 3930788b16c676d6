#include "cli/exit_codes.h"

namespace interlacer::cli {

ExitCode ExitCodeOf(const Status& status) {
  if (status.ok()) return kExitDone;
  if (status.reason() == reason::DEVICE_ABSENT) return kExitNoDevice;
  if (status.reason() == reason::FILE_UNWRITABLE || status.reason() == reason::OUTPUT_EXISTS) {
    return kExitOutputFailed;
  }
  if (status.reason() == reason::ARGUMENT_INVALID || status.reason() == reason::CONFIG_INVALID) {
    return kExitUsage;
  }
  switch (status.code()) {
    case StatusCode::kUnavailable:
      return kExitUnreachable;
    case StatusCode::kDeadlineExceeded:
      return kExitDeadline;
    case StatusCode::kResourceExhausted:
      return kExitOverload;
    case StatusCode::kCancelled:
      return kExitInterrupted;
    case StatusCode::kInternal:
    case StatusCode::kUnknown:
    case StatusCode::kAborted:
      return kExitInternal;
    default:
      return kExitBadInput;
  }
}

}  // namespace interlacer::cli
