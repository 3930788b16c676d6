#include "bench/threads.h"

#include "common/thread_pool.h"
#include "model/runtime/torch_errors.h"

namespace interlacer::bench {

void UseThreads(int count) {
  SetThreadCount(count);
  UseKernelThreadCount();
}

}  // namespace interlacer::bench
