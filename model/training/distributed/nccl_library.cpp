#include "model/training/distributed/nccl_library.h"

#include <dlfcn.h>

namespace interlacer {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

StatusOr<NcclLibrary> NcclLibrary::Open(const std::string& path) {
  // Never closed: communicators may outlive any owner of the library.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  NcclLibrary nccl;
  if (library != nullptr && Find(library, "ncclGetUniqueId", &nccl.get_unique_id) &&
      Find(library, "ncclCommInitRank", &nccl.comm_init_rank) &&
      Find(library, "ncclAllReduce", &nccl.all_reduce) &&
      Find(library, "ncclBroadcast", &nccl.broadcast) &&
      Find(library, "ncclCommGetAsyncError", &nccl.comm_get_async_error) &&
      Find(library, "ncclCommDestroy", &nccl.comm_destroy) &&
      Find(library, "ncclCommAbort", &nccl.comm_abort) &&
      Find(library, "ncclGetErrorString", &nccl.get_error_string)) {
    return nccl;
  }
  const char* error = dlerror();
  return FailedPrecondition(reason::FEATURE_NOT_BUILT,
                            "NCCL cannot be opened: " + std::string(error ? error : path));
}

}  // namespace interlacer
