#include <cuda_runtime.h>

#include <cstdlib>
#include <utility>

#include "machine.h"

struct CUstream_st {};

namespace interlacer::emulation {
namespace {

struct Calls {
  cudaError_t last_error = cudaSuccess;
  int failed = 0;
  cudaError_t count_error = cudaSuccess;
  int device_count = 1;
};
Calls calls;

}  // namespace

cudaError_t Answer(cudaError_t error) {
  if (error != cudaSuccess) {
    calls.last_error = error;
    ++calls.failed;
  }
  return error;
}

int BlocksAtOnce(int threads, std::size_t shared_bytes) {
  const int by_threads = kMultiprocessorThreads / threads;
  const int by_memory =
      kMultiprocessorSharedBytes / (static_cast<int>(shared_bytes) + kDeclaredSharedBytes);
  return by_threads < by_memory ? by_threads : by_memory;
}

void AnswerDeviceCount(cudaError_t error, int count) {
  calls.count_error = error;
  calls.device_count = count;
}

int TakeFailedCalls() { return std::exchange(calls.failed, 0); }

}  // namespace interlacer::emulation

cudaError_t cudaMalloc(void** memory, std::size_t size_bytes) {
  namespace emu = interlacer::emulation;
  *memory = size_bytes == 0     ? nullptr
            : emu::IsChecking() ? emu::AllocateChecked(size_bytes)
                                : std::malloc(size_bytes);
  if (size_bytes == 0) return cudaSuccess;
  if (*memory == nullptr) return emu::Answer(cudaErrorMemoryAllocation);
  if (!emu::IsChecking()) std::memset(*memory, emu::kPoison, size_bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  if (interlacer::emulation::IsChecking() && memory != nullptr) {
    interlacer::emulation::FreeChecked(memory);
  } else {
    std::free(memory);
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size_bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  if (stream == nullptr) return interlacer::emulation::Answer(cudaErrorInvalidValue);
  interlacer::emulation::HostCopied(to, from, size_bytes);
  if (size_bytes > 0) std::memcpy(to, from, size_bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t size_bytes, cudaStream_t stream) {
  if (stream == nullptr) return interlacer::emulation::Answer(cudaErrorInvalidValue);
  interlacer::emulation::HostWrote(memory, size_bytes);
  if (size_bytes > 0) std::memset(memory, value, size_bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = interlacer::emulation::calls.device_count;
  return interlacer::emulation::Answer(interlacer::emulation::calls.count_error);
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {"emulated"};
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  namespace emu = interlacer::emulation;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = emu::kMultiprocessors;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 8;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = emu::kMultiprocessorSharedBytes;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = emu::kMaxSharedBytes;
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  attributes->sharedSizeBytes = interlacer::emulation::kDeclaredSharedBytes;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return std::exchange(interlacer::emulation::calls.last_error, cudaSuccess);
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    default:
      return "invalid argument";
  }
}
