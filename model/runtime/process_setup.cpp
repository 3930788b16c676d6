#include "model/runtime/process_setup.h"

#include "common/process_memory.h"
#include "model/runtime/tensor_memory.h"

namespace interlacer {

void PrepareProcess() {
  RetainFreedMemory();
  UseTensorMemory();
}

}  // namespace interlacer
