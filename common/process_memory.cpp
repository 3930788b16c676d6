#include "common/process_memory.h"

#include <stdlib.h>

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

}  // namespace interlacer
