#pragma once

/// Device memory and a stream for tests, filled from and read back into vectors. Every call waits
/// and fails the test on an error.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "common/kernels/device_buffer.h"

namespace interlacer::testing {

/// A stream of its own; null where no device answers.
class TestStream {
 public:
  TestStream() { EXPECT_EQ(stream_.Create(), cudaSuccess); }
  cudaStream_t get() const { return stream_.get(); }
  void Wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess); }

 private:
  DeviceStream stream_;
};

/// `count` items of T on the device.
template <typename T>
class DeviceArray {
 public:
  /// Filled with bytes 0xFF: NaN, or -1.
  DeviceArray(const TestStream& stream, std::int64_t count) : stream_(stream), count_(count) {
    if (count == 0) return;
    EXPECT_EQ(buffer_.Allocate(size_bytes()), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(get(), 0xFF, size_bytes(), stream.get()), cudaSuccess);
    stream.Wait();
  }
  DeviceArray(const TestStream& stream, const std::vector<T>& values)
      : DeviceArray(stream, static_cast<std::int64_t>(values.size())) {
    if (count_ == 0) return;
    EXPECT_EQ(
        cudaMemcpyAsync(get(), values.data(), size_bytes(), cudaMemcpyHostToDevice, stream.get()),
        cudaSuccess);
    stream.Wait();
  }

  T* get() const { return buffer_.as<T>(); }

  /// The first `count` items, after everything that was put on the stream.
  std::vector<T> Read(std::int64_t count) const {
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0) {
      EXPECT_EQ(cudaMemcpyAsync(values.data(), get(), values.size() * sizeof(T),
                                cudaMemcpyDeviceToHost, stream_.get()),
                cudaSuccess);
    }
    stream_.Wait();
    return values;
  }
  std::vector<T> Read() const { return Read(count_); }

 private:
  std::size_t size_bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }

  const TestStream& stream_;
  std::int64_t count_;
  DeviceBuffer buffer_;
};

/// True where a device answers; the others skip with the message given here.
inline bool HasDevice() {
  int count = 0;
  const bool answered = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  (void)cudaGetLastError();
  return answered;
}

}  // namespace interlacer::testing

/// First line of a device test.
#define INTERLACER_SKIP_WITHOUT_DEVICE() \
  if (!::interlacer::testing::HasDevice()) GTEST_SKIP() << "no CUDA device"
