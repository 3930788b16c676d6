#include "model/runtime/torch_errors.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <mutex>
#include <new>
#include <string>

#include "common/thread_pool.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

/// Start of the message of torch's own allocator, after the source location.
constexpr std::string_view kHostAllocatorFailed = "DefaultCPUAllocator: ";

Status InternalFirstLine(const std::string& text) { return Internal("torch: " + FirstLine(text)); }

}  // namespace

std::string FirstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

Status CatchTorchErrors(const std::function<Status()>& run, std::string_view what) {
  const auto no_memory = [what](const char* place) {
    return "not enough " + std::string(place) + "memory for this " + std::string(what);
  };
  try {
    return run();
  } catch (const StatusException& error) {
    return error.status();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(reason::HOST_MEMORY, no_memory(""));
  } catch (const c10::OutOfMemoryError&) {
    return ResourceExhausted(reason::DEVICE_OUT_OF_MEMORY, no_memory("device "));
  } catch (const c10::AcceleratorError& error) {
    return Status(StatusCode::kInternal, reason::DEVICE_LOST,
                  "CUDA: " + FirstLine(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    if (FirstLine(error.what_without_backtrace()).find(kHostAllocatorFailed) != std::string::npos) {
      return ResourceExhausted(reason::HOST_MEMORY, no_memory(""));
    }
    return InternalFirstLine(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return Internal(FirstLine(error.what()));
  }
}

void WarmVectorMath() {
  static std::once_flag once;
  std::call_once(once, [] {
    const c10::InferenceMode without_gradients;
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const at::Tensor half = at::full({1}, 0.5, type);
      for (const auto& function :
           {at::acos, at::asin, at::atan, at::cos, at::erf, at::erfc, at::erfinv, at::exp, at::log,
            at::log10, at::log2, at::sin, at::sqrt, at::tan, at::tanh, at::trunc}) {
        function(half);
      }
    }
  });
}

void UseKernelThreadCount() {
  WarmVectorMath();
  at::set_num_threads(ThreadCount());
}

}  // namespace interlacer
