#include "model/torch_errors.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <string>

#include "common/thread_pool.h"
#include "model/torch_status.h"

namespace interlacer {
namespace {

/// torch's OpenMP threads spin while they wait, and take the cores from our kernels' threads (a
/// quarter of a training step, measured). libgomp reads its policy when it is loaded, so the
/// default is set before the constructors of shared libraries run; a policy set by the user stays.
void PrepareProcess(int, char**, char**) {
  setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0);
#if defined(__GLIBC__)
  // Activations are tens of MB and live for one layer. Memory that goes back to the kernel after
  // each comes back page by page: a sixth of a step's processor time at T = 65536, measured.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kPrepareProcess)(int, char**, char**) = PrepareProcess;

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
