#pragma once

/// Loads NCCL's C functions at run time from the library that LibTorch's CUDA part ships.
///
/// The declarations are those of nccl.h 2.x, whose binary interface is stable within the version;
/// nothing is linked, so one program serves machines with and without GPUs.
/// Errors: FAILED_PRECONDITION FEATURE_NOT_BUILT when the library or a function is missing.
/// Threads: value type; the functions as NCCL says. `stream` is a cudaStream_t.

#include <cstddef>
#include <string>

#include "common/status.h"

namespace interlacer {

struct NcclUniqueId {
  char bytes[128];
};
struct NcclCommunicator;  // opaque

enum NcclType : int { kNcclUint8 = 1, kNcclFloat32 = 7, kNcclFloat64 = 8 };
enum NcclResult : int { kNcclSuccess = 0, kNcclInProgress = 7 };
constexpr int kNcclSum = 0;

struct NcclLibrary {
  /// `path`: the library's file or bare name.
  static StatusOr<NcclLibrary> Open(const std::string& path = "libnccl.so.2");

  int (*get_unique_id)(NcclUniqueId*);
  int (*comm_init_rank)(NcclCommunicator**, int rank_count, NcclUniqueId, int rank);
  int (*all_reduce)(const void* from, void* to, std::size_t count, int type, int operation,
                    NcclCommunicator*, void* stream);
  int (*broadcast)(const void* from, void* to, std::size_t count, int type, int root,
                   NcclCommunicator*, void* stream);
  int (*comm_get_async_error)(NcclCommunicator*, int*);
  int (*comm_destroy)(NcclCommunicator*);
  int (*comm_abort)(NcclCommunicator*);
  const char* (*get_error_string)(int);
};

}  // namespace interlacer
