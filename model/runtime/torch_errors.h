#pragma once

/// Converts torch's exceptions to Status.
///
/// A StatusException returns its Status; lack of memory is RESOURCE_EXHAUSTED HOST_MEMORY or
/// DEVICE_OUT_OF_MEMORY; errors of the CUDA runtime are INTERNAL DEVICE_LOST; all others are
/// INTERNAL with the first line of their text. Threads: as the function called.

#include <functional>
#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer {

/// `what` names the operation for error messages.
Status CatchTorchErrors(const std::function<Status()>& run, std::string_view what = "model step");

/// The first line of an exception's text; the rest is a stack trace.
std::string FirstLine(std::string_view text);

/// Calls each of the vector functions of MKL that torch uses once, on this thread; later calls do
/// nothing. Where several of torch's threads make the first call of a process, the part of one of
/// them sometimes has half of the digits (exp in float64 off by 2.7e-9 in 10 of 400 processes; in
/// none of 600 after a call on one thread). Threads: any.
void WarmVectorMath();

/// WarmVectorMath, and sets torch's thread count to that of our kernels (common/thread_pool.h), for
/// this thread and new ones.
void UseKernelThreadCount();

}  // namespace interlacer
