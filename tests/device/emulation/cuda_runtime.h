#pragma once

/// Emulates the parts of the CUDA runtime and device language that our kernels use, on one CPU
/// thread, so that kernels and their tests run without a GPU.
///
/// Every thread of a block is a fiber that runs until it waits at a barrier or in a collective of
/// its warp; blocks run one after another. Memory is the host's and is filled with 0xFF when
/// allocated. Stricter than a GPU: launches, copies and fills on the default stream are refused,
/// and a barrier that not every thread reaches, or a collective that does not name the whole warp,
/// ends the program. Declared shared memory counts as 1 KB, the most that kernels with shared
/// memory of a launched size declare; more than the limit is refused. Launched shared memory is
/// 0xFF when a block begins, and a write beyond its end ends the program. Kernels compiled for it
/// also have every access checked (memory_check.h). Speed is not emulated.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include "memory_check.h"

#define __global__
#define __device__
#define __host__
/// Declared as memory of the one thread that runs them all, so that its addresses are known.
#define __shared__ static thread_local
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
/// Marks functions whose accesses are atomic, not plain.
#define EMULATED_ATOMIC __attribute__((noinline, no_sanitize_thread))

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};
inline constexpr int cudaSharedmemCarveoutMaxShared = 100;
struct cudaFuncAttributes {
  std::size_t sharedSizeBytes;
};
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};
struct cudaDeviceProp {
  char name[256];
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
inline constexpr unsigned cudaStreamNonBlocking = 1;
using cudaStream_t = struct CUstream_st*;

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct alignas(16) float4 {
  float x, y, z, w;
};

struct alignas(8) float2 {
  float x, y;
};
struct alignas(8) ushort4 {
  std::uint16_t x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

/// Indices of the running fiber.
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

cudaError_t cudaMalloc(void** memory, std::size_t size_bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size_bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t size_bytes, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
/// Returns the last error and clears it.
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

namespace interlacer::emulation {

cudaError_t RunGrid(const cudaLaunchConfig_t& config, const void* kernel,
                    const std::function<void()>& thread);
cudaError_t RaiseSharedLimit(const void* kernel, int size_bytes);
int BlocksAtOnce(int threads, std::size_t shared_bytes);

/// Sets the result of cudaGetDeviceCount; the default is one device.
void AnswerDeviceCount(cudaError_t error, int count);

/// Number of failed calls since the last query; for tools that watch a program.
int TakeFailedCalls();

/// Shared memory of the running block.
void* LaunchedSharedMemory();
/// Starts a copy of 16 bytes, which is carried out when the running thread awaits it.
void BeginCopy(void* to, const void* from);
void AwaitCopies();

/// Exchanges a value between the lanes of the running warp; returns all values by lane and waits
/// for all lanes.
const std::uint64_t* Exchange(unsigned mask, std::uint64_t value);
void SyncWarp(unsigned mask);
int Lane();

template <typename T>
std::uint64_t ToBits(T value) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T>
T FromBits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace interlacer::emulation

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments... arguments) {
  return interlacer::emulation::RunGrid(*config, reinterpret_cast<const void*>(kernel),
                                        [&] { kernel(arguments...); });
}

template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;  // a hint
  return interlacer::emulation::RaiseSharedLimit(reinterpret_cast<const void*>(kernel), value);
}

/// Resident blocks on one multiprocessor, limited by threads and shared memory alone.
template <typename... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*)(Parameters...),
                                                          int threads, std::size_t shared_bytes) {
  *blocks = interlacer::emulation::BlocksAtOnce(threads, shared_bytes);
  return cudaSuccess;
}

void __syncthreads();
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) { interlacer::emulation::SyncWarp(mask); }

template <typename T>
T __shfl_sync(unsigned mask, T value, int from) {
  namespace emu = interlacer::emulation;
  return emu::FromBits<T>(emu::Exchange(mask, emu::ToBits(value))[from & 31]);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int other) {
  return __shfl_sync(mask, value, interlacer::emulation::Lane() ^ other);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, int step) {
  const int lane = interlacer::emulation::Lane();
  return __shfl_sync(mask, value, lane >= step ? lane - step : lane);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, int step) {
  const int lane = interlacer::emulation::Lane();
  return __shfl_sync(mask, value, lane + step < 32 ? lane + step : lane);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  const std::uint64_t* all = interlacer::emulation::Exchange(mask, predicate != 0);
  unsigned ballot = 0;
  for (int lane = 0; lane < 32; ++lane) ballot |= static_cast<unsigned>(all[lane]) << lane;
  return ballot;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  namespace emu = interlacer::emulation;
  const std::uint64_t* all = emu::Exchange(mask, emu::ToBits(value));
  unsigned equal = 0;
  for (int lane = 0; lane < 32; ++lane) equal |= unsigned{all[lane] == emu::ToBits(value)} << lane;
  return equal;
}

template <typename T>
EMULATED_ATOMIC T atomicAdd(T* address, T value) {
  interlacer::emulation::OnAccess(address, sizeof(T), interlacer::emulation::Access::kAtomic,
                                  __builtin_return_address(0));
  const T before = *address;
  *address += value;
  return before;
}
template <typename T>
EMULATED_ATOMIC T atomicMin(T* address, T value) {
  interlacer::emulation::OnAccess(address, sizeof(T), interlacer::emulation::Access::kAtomic,
                                  __builtin_return_address(0));
  const T before = *address;
  if (value < before) *address = value;
  return before;
}
template <typename T>
EMULATED_ATOMIC T atomicCAS(T* address, T expected, T value) {
  interlacer::emulation::OnAccess(address, sizeof(T), interlacer::emulation::Access::kAtomic,
                                  __builtin_return_address(0));
  const T before = *address;
  if (before == expected) *address = value;
  return before;
}
template <typename T>
T atomicSub(T* address, T value) {
  return atomicAdd(address, static_cast<T>(-value));
}

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline float __uint_as_float(unsigned bits) { return interlacer::emulation::FromBits<float>(bits); }
inline unsigned __float_as_uint(float value) {
  return static_cast<unsigned>(interlacer::emulation::ToBits(value));
}
inline float __int_as_float(int bits) {
  return interlacer::emulation::FromBits<float>(static_cast<std::uint32_t>(bits));
}
inline float sinpif(float x) { return static_cast<float>(std::sin(3.141592653589793 * x)); }
inline float cospif(float x) { return static_cast<float>(std::cos(3.141592653589793 * x)); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
