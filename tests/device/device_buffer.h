#pragma once

/// Move-only owners of CUDA memory and streams. Copies are explicit.
///
/// Errors are cudaError_t values; a failed allocation leaves the buffer empty. Thread-safety: one
/// owner, one thread.

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace interlacer {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { (void)cudaFree(data_); }

  cudaError_t Allocate(std::size_t size_bytes) {
    (void)cudaFree(std::exchange(data_, nullptr));
    return cudaMalloc(&data_, size_bytes);
  }

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

class DeviceStream {
 public:
  DeviceStream() = default;
  DeviceStream(DeviceStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  DeviceStream& operator=(DeviceStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  ~DeviceStream() {
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  cudaError_t Create() { return cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace interlacer
