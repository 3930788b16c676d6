#pragma once

/// Device memory and a stream for tests, filled from and read back into vectors. Every call waits
/// and fails the test on an error.
///
/// Switches of the environment, off where absent, empty or 0:
///   INTERLACER_REQUIRE_DEVICE  a missing device fails a test instead of skipping it
///   INTERLACER_TEST_NO_POISON  memory stays as allocated, for tools that look for reads of memory
///                              that nothing wrote

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/kernels/device_buffer.h"

namespace interlacer::testing {

inline bool IsSwitchedOn(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != 0 && std::string(value) != "0";
}

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
  /// Poisoned, so that what nothing wrote shows; a test that expects unwritten items poisons them
  /// itself.
  DeviceArray(const TestStream& stream, std::int64_t count) : stream_(stream), count_(count) {
    if (count == 0) return;
    EXPECT_EQ(buffer_.Allocate(size_bytes()), cudaSuccess);
    if (!IsSwitchedOn("INTERLACER_TEST_NO_POISON")) Poison();
  }
  DeviceArray(const TestStream& stream, const std::vector<T>& values)
      : DeviceArray(stream, static_cast<std::int64_t>(values.size())) {
    if (count_ == 0) return;
    EXPECT_EQ(
        cudaMemcpyAsync(get(), values.data(), size_bytes(), cudaMemcpyHostToDevice, stream.get()),
        cudaSuccess);
    stream.Wait();
  }

  /// Fills with bytes 0xFF: NaN, or -1.
  void Poison() const {
    EXPECT_EQ(cudaMemsetAsync(get(), 0xFF, size_bytes(), stream_.get()), cudaSuccess);
    stream_.Wait();
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

/// Why no device answers; empty if one does.
inline std::string MissingDevice() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return "";
  (void)cudaGetLastError();
  return std::string("no CUDA device: ") +
         (error == cudaSuccess ? "the runtime counts none" : cudaGetErrorString(error));
}

}  // namespace interlacer::testing

/// First line of a device test.
#define INTERLACER_SKIP_WITHOUT_DEVICE()                                       \
  do {                                                                         \
    const std::string missing_device = ::interlacer::testing::MissingDevice(); \
    if (missing_device.empty()) break;                                         \
    if (::interlacer::testing::IsSwitchedOn("INTERLACER_REQUIRE_DEVICE"))      \
      FAIL() << missing_device;                                                \
    GTEST_SKIP() << missing_device;                                            \
  } while (false)
