/// Linked into a program (interlacer::passive_waiting), this has torch's OpenMP threads sleep while
/// they wait, where whoever starts the program set no OMP_WAIT_POLICY. They would spin for
/// milliseconds after each operation and take the cores from our kernels' threads: a step of 8192
/// tokens took twice as long, measured.
///
/// libgomp reads its policy when it is loaded, so the program executes itself once more with the
/// variable set, and does so before any library is initialised, which for torch takes half a
/// second. The process keeps its id, arguments and open files. Nothing happens where /proc is
/// absent or the program was started through the loader, whose options are gone: it goes on as it
/// is.
///
/// This runs before libc and sanitizers are initialised: system calls, no library, no heap.

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <cstring>

namespace interlacer {
namespace {

constexpr char kVariable[] = "OMP_WAIT_POLICY=passive";
constexpr std::size_t kNameBytes = sizeof("OMP_WAIT_POLICY=") - 1;
/// Beyond, the program goes on as it is.
constexpr std::size_t kMaxVariables = 4096;

void WaitPassively(int, char** argv, char** variables) {
  if (getauxval(AT_BASE) == 0) return;  // the loader was run by hand
  const char* all[kMaxVariables + 2];
  std::size_t count = 0;
  for (; variables[count] != nullptr; ++count) {
    if (count == kMaxVariables || std::strncmp(variables[count], kVariable, kNameBytes) == 0)
      return;
    all[count] = variables[count];
  }
  all[count] = kVariable;
  all[count + 1] = nullptr;
  // The link's target, not the link: otherwise the process would be named "exe".
  char path[PATH_MAX];
  const long length = syscall(SYS_readlink, "/proc/self/exe", path, sizeof(path) - 1);
  if (length <= 0) return;
  path[length] = '\0';
  syscall(SYS_execve, path, argv, all);
}

/// The loader calls what stands here before the initialisers of libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*const wait_passively)(int, char**,
                                                                           char**) = WaitPassively;

}  // namespace
}  // namespace interlacer
