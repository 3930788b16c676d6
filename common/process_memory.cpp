#include "common/process_memory.h"

#include <stdlib.h>

#include <fstream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>

#include <limits>
#endif

namespace interlacer {

void RetainFreedMemory() {
#if defined(__GLIBC__)
  // Without mmap every block comes from the heap, whose top is never trimmed.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  // malloc_trim gives back the top of the main heap alone; a burst leaves most of what it took in
  // the tops of other threads' heaps.
  mallopt(M_ARENA_MAX, 1);
#endif
}

void ReleaseIdleMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

std::optional<ResidentMemory> ReadResidentMemory() {
  std::ifstream status("/proc/self/status");
  std::optional<std::int64_t> now, peak;
  std::string word;
  std::int64_t kibibytes = 0;
  while (status >> word) {
    if (word == "VmRSS:" && status >> kibibytes) now = kibibytes * 1024;
    if (word == "VmHWM:" && status >> kibibytes) peak = kibibytes * 1024;
  }
  if (!now || !peak) return std::nullopt;
  return ResidentMemory{*now, *peak};
}

bool ResetPeakMemory() {
  std::ofstream control("/proc/self/clear_refs");
  control << "5" << std::flush;
  return control.good();
}

}  // namespace interlacer
