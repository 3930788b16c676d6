#include "bench/threads.h"

#include "common/thread_pool.h"
#include "model/torch_errors.h"

namespace interlacer::bench {

void UseThreads(int count) {
  SetThreadCount(count);
  UseKernelThreadCount();
}

}  // namespace interlacer::bench
