#pragma once

/// Exit codes of the program, and the one mapping from Status to them. Pure, thread-safe.

#include "common/status.h"

namespace interlacer::cli {

enum ExitCode : int {
  kExitDone = 0,
  kExitCheckFailed = 1,  ///< a check failed, a regression, not ready
  kExitUsage = 2,        ///< command line or configuration
  kExitBadInput = 3,     ///< data, checkpoint, request
  kExitUnreachable = 4,  ///< no server
  kExitDeadline = 5,
  kExitOverload = 6,
  kExitNoDevice = 7,      ///< the device asked for is absent
  kExitOutputFailed = 8,  ///< output could not be written
  kExitInternal = 70,
  kExitInterrupted = 130,
};

ExitCode ExitCodeOf(const Status& status);

}  // namespace interlacer::cli
