#pragma once

/// Arrays in device memory, made from vectors and read back into them. Every call waits.
///
/// Errors: std::runtime_error naming the call, for what the CUDA runtime reports. Threads: one
/// owner, one thread.

#include <cuda_runtime.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/kernels/device_buffer.h"

namespace interlacer::bench {

/// For calls of the runtime and for our launches alike.
inline void RequireCuda(int error, const char* what) {
  if (error == 0) return;
  throw std::runtime_error(std::string(what) + ": " +
                           cudaGetErrorString(static_cast<cudaError_t>(error)));
}

/// The stream of everything that is measured.
class BenchStream {
 public:
  BenchStream() { RequireCuda(stream_.Create(), "cudaStreamCreate"); }
  cudaStream_t get() const { return stream_.get(); }
  void Wait() const { RequireCuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"); }

 private:
  DeviceStream stream_;
};

/// `count` items of T.
template <typename T>
class DeviceArray {
 public:
  /// Filled with bytes 0xFF: NaN, or -1.
  DeviceArray(const BenchStream& stream, std::int64_t count)
      : stream_(stream.get()), count_(count) {
    if (count == 0) return;
    RequireCuda(buffer_.Allocate(size_bytes()), "cudaMalloc");
    Poison();
  }
  template <typename Values>
  DeviceArray(const BenchStream& stream, const Values& values) requires requires {
    values.data();
  } : DeviceArray(stream, static_cast<std::int64_t>(values.size())) {
    if (count_ == 0) return;
    RequireCuda(
        cudaMemcpyAsync(get(), values.data(), size_bytes(), cudaMemcpyHostToDevice, stream_),
        "copy to the device");
    RequireCuda(cudaStreamSynchronize(stream_), "copy to the device");
  }

  T* get() const { return buffer_.as<T>(); }

  void Poison() const {
    RequireCuda(cudaMemsetAsync(get(), 0xFF, size_bytes(), stream_), "cudaMemset");
    RequireCuda(cudaStreamSynchronize(stream_), "cudaMemset");
  }

  /// The first `count` items, after everything that was put on the stream.
  std::vector<T> Read(std::int64_t count) const {
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0) {
      RequireCuda(cudaMemcpyAsync(values.data(), get(), values.size() * sizeof(T),
                                  cudaMemcpyDeviceToHost, stream_),
                  "copy to the host");
    }
    RequireCuda(cudaStreamSynchronize(stream_), "copy to the host");
    return values;
  }
  std::vector<T> Read() const { return Read(count_); }

 private:
  std::size_t size_bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }

  cudaStream_t stream_;
  std::int64_t count_;
  DeviceBuffer buffer_;
};

}  // namespace interlacer::bench
