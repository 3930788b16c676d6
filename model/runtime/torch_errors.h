#pragma once

/// The door through which torch's exceptions leave as Status.
///
/// StatusException gives its Status back; lack of memory is RESOURCE_EXHAUSTED HOST_MEMORY or
/// DEVICE_OUT_OF_MEMORY; what the CUDA runtime reports is INTERNAL DEVICE_LOST; all else is
/// INTERNAL with the first line of its text. Threads: as the function called.

#include <functional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer {

/// `what` ran, in the words of an error.
Status CatchTorchErrors(const std::function<Status()>& run, std::string_view what = "model step");

/// The first line of an exception's text; the rest is a stack trace.
std::string FirstLine(std::string_view text);

/// Sets torch's thread count to that of our kernels (common/thread_pool.h), for this thread and new
/// ones.
void UseKernelThreadCount();

}  // namespace interlacer
