#pragma once

/// Arrays in device memory for programs that check or measure kernels: created from host memory and
/// read back into vectors. Every call waits. Without a device tests are skipped, or fail if
/// INTERLACER_REQUIRE_DEVICE is switched on in the environment.
///
/// New arrays are poisoned with bytes 0xFF, NaN or -1, so that unwritten items are noticed; a
/// program that expects unwritten items poisons them itself. With INTERLACER_TEST_NO_POISON
/// switched on in the environment memory stays as allocated, for tools that detect reads of
/// uninitialised memory. Errors: std::runtime_error naming the call. Threads: one owner, one
/// thread.

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/kernels/cuda.h"
#include "tests/device/device_buffer.h"

namespace interlacer {

/// Whether a switch in the environment is on; absent, empty and 0 mean off.
inline bool IsSwitchedOn(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != 0 && std::string_view(value) != "0";
}

/// Why no device is available; empty if one is.
inline std::string MissingDevice() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return "";
  (void)cudaGetLastError();
  return std::string("no CUDA device: ") +
         (error == cudaSuccess ? "the runtime counts none" : cudaGetErrorString(error));
}

/// Throws on errors of the CUDA runtime's calls and of our launches.
inline void RequireCuda(CudaError error, const char* what) {
  if (error.ok()) return;
  throw std::runtime_error(std::string(what) + ": " +
                           cudaGetErrorString(static_cast<cudaError_t>(error.code)));
}

/// A stream of its own.
class CheckedStream {
 public:
  CheckedStream() { RequireCuda(stream_.Create(), "cudaStreamCreate"); }
  cudaStream_t get() const { return stream_.get(); }
  void Wait() const { RequireCuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"); }

 private:
  DeviceStream stream_;
};

/// Reads `count` items from the device after all work on the stream.
template <typename T>
std::vector<T> ReadArray(cudaStream_t stream, const T* from, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  if (count > 0) {
    RequireCuda(cudaMemcpyAsync(values.data(), from, values.size() * sizeof(T),
                                cudaMemcpyDeviceToHost, stream),
                "copy to the host");
  }
  RequireCuda(cudaStreamSynchronize(stream), "copy to the host");
  return values;
}

/// An array of `count` items of T. The stream must outlive it.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(const CheckedStream& stream, std::int64_t count)
      : stream_(stream.get()), count_(count) {
    if (count == 0) return;
    RequireCuda(buffer_.Allocate(size_bytes()), "cudaMalloc");
    if (!IsSwitchedOn("INTERLACER_TEST_NO_POISON")) Poison();
  }
  /// From vectors, spans and arrays of T.
  template <typename Values>
  DeviceArray(const CheckedStream& stream, const Values& values) requires requires {
    values.data();
  } : DeviceArray(stream, static_cast<std::int64_t>(values.size())) {
    if (count_ == 0) return;
    const T* const from = values.data();
    RequireCuda(cudaMemcpyAsync(get(), from, size_bytes(), cudaMemcpyHostToDevice, stream_),
                "copy to the device");
    Wait("copy to the device");
  }

  T* get() const { return buffer_.as<T>(); }

  void Poison() const {
    RequireCuda(cudaMemsetAsync(get(), 0xFF, size_bytes(), stream_), "cudaMemset");
    Wait("cudaMemset");
  }

  /// Reads the first `count` items.
  std::vector<T> Read(std::int64_t count) const { return ReadArray(stream_, get(), count); }
  std::vector<T> Read() const { return Read(count_); }

 private:
  std::size_t size_bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }
  void Wait(const char* what) const { RequireCuda(cudaStreamSynchronize(stream_), what); }

  cudaStream_t stream_;
  std::int64_t count_;
  DeviceBuffer buffer_;
};

}  // namespace interlacer

/// Must be the first line of a device test.
#define INTERLACER_SKIP_WITHOUT_DEVICE()                                                   \
  do {                                                                                     \
    const std::string missing_device = ::interlacer::MissingDevice();                      \
    if (missing_device.empty()) break;                                                     \
    if (::interlacer::IsSwitchedOn("INTERLACER_REQUIRE_DEVICE")) FAIL() << missing_device; \
    GTEST_SKIP() << missing_device;                                                        \
  } while (false)
