#include "model/torch_errors.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <mutex>
#include <new>
#include <string>

#include "common/thread_pool.h"
#include "model/torch_status.h"

namespace interlacer {
namespace {

Status InternalFirstLine(const std::string& text) {
  return Internal("torch: " + text.substr(0, text.find('\n')));
}

}  // namespace

Status CatchTorchErrors(const std::function<Status()>& run) {
  try {
    return run();
  } catch (const StatusException& error) {
    return error.status();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(reason::HOST_MEMORY, "not enough memory for this model step");
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (text.find("DefaultCPUAllocator") != std::string::npos) {
      return ResourceExhausted(reason::HOST_MEMORY, "not enough memory for this model step");
    }
    return InternalFirstLine(text);
  } catch (const std::exception& error) {
    return InternalFirstLine(error.what());
  }
}

void UseKernelThreadCount() {
  static std::once_flag once;
  std::call_once(once, [] { at::set_num_threads(ThreadCount()); });
}

}  // namespace interlacer
