#include "model/runtime/torch_errors.h"

#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "model/runtime/tensor_memory.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

constexpr char kWaitPolicy[] = "OMP_WAIT_POLICY";

bool IsSet(char** environment, const char* name) {
  const std::size_t length = std::strlen(name);
  for (; *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return true;
  }
  return false;
}

/// Starts this program again, in the same process, with one variable more. Returns if it cannot.
void RestartWith(const char* variable, char** arguments, char** environment) {
  if (getauxval(AT_BASE) == 0) return;  // started through the loader, which has eaten its options
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (length <= 0) return;
  path[length] = '\0';
  std::vector<const char*> more;
  for (; *environment != nullptr; ++environment) more.push_back(*environment);
  more.push_back(variable);
  more.push_back(nullptr);
  execve(path, arguments, const_cast<char**>(more.data()));
}

/// Before the constructors of shared libraries.
///
/// torch's OpenMP threads spin for milliseconds after each operation and take the cores from our
/// kernels' threads: a step of 8192 tokens took twice as long, measured. libgomp reads its policy
/// once, when it is loaded, from the environment that the process was started with (setenv is too
/// late even here: the C library takes its copy afterwards). A policy set by the user stays.
void PrepareProcess(int, char** arguments, char** environment) {
#if defined(__linux__)
  if (!IsSet(environment, kWaitPolicy)) {
    RestartWith("OMP_WAIT_POLICY=passive", arguments, environment);
  }
#endif
#if defined(__GLIBC__)
  // Activations are tens of MB and live for one layer. Memory that goes back to the kernel after
  // each comes back page by page: a sixth of a step's processor time at T = 65536, measured.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kPrepareProcess)(int, char**, char**) = PrepareProcess;

/// Above torch's own allocator, which has 0.
constexpr std::uint8_t kAllocatorPriority = 1;

/// After the constructors of shared libraries, before main.
[[gnu::used]] const bool kHasTensorMemory =
    (c10::SetCPUAllocator(TensorMemory(), kAllocatorPriority), true);

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
    return InternalFirstLine(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return Internal(FirstLine(error.what()));
  }
}

void UseKernelThreadCount() { at::set_num_threads(ThreadCount()); }

}  // namespace interlacer
