#pragma once

/// The door through which torch's exceptions leave as Status.
///
/// StatusException gives its Status back; lack of memory is RESOURCE_EXHAUSTED HOST_MEMORY or
/// DEVICE_OUT_OF_MEMORY; what the CUDA runtime reports is INTERNAL DEVICE_LOST; all else is
/// INTERNAL with the first line of its text. Threads: as the function called.

#include <functional>

#include "common/status.h"

namespace interlacer {

Status CatchTorchErrors(const std::function<Status()>& run);

/// Sets torch's thread count to that of our kernels, once for the process.
void UseKernelThreadCount();

}  // namespace interlacer
