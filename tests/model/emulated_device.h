#pragma once

/// A device for tests of the model's wiring, where there is none: while one lives, operations on
/// tensors in host memory take the way of a CUDA device, through kernels that run on the CPU
/// (tests/device/emulation). Not thread-safe.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "model/ops/device.h"

namespace interlacer::testing {

class EmulatedDevice {
 public:
  EmulatedDevice() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    SetEmulatedStream(stream_);
  }
  EmulatedDevice(const EmulatedDevice&) = delete;
  EmulatedDevice& operator=(const EmulatedDevice&) = delete;
  ~EmulatedDevice() {
    SetEmulatedStream(nullptr);
    (void)cudaStreamDestroy(stream_);
  }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace interlacer::testing
