#pragma once

/// A device for tests of the model's wiring, where there is none: while one lives, operations on
/// tensors in host memory take the way of a CUDA device, through kernels that run on the CPU
/// (tests/device/emulation), and memory that torch gives without filling it holds NaN or the
/// largest integer. Not thread-safe.

#include <ATen/Context.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/cuda/device.h"

namespace interlacer::testing {

class EmulatedDevice {
 public:
  EmulatedDevice() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    SetEmulatedStream(stream_);
    Poison(true);
  }
  EmulatedDevice(const EmulatedDevice&) = delete;
  EmulatedDevice& operator=(const EmulatedDevice&) = delete;
  ~EmulatedDevice() {
    Poison(false);
    SetEmulatedStream(nullptr);
    (void)cudaStreamDestroy(stream_);
  }

  /// Runs `body` as on a machine without it.
  void RunOnHost(const std::function<void()>& body) const {
    const Pause pause(stream_);
    body();
  }

 private:
  struct Pause {
    explicit Pause(cudaStream_t resumed) : stream(resumed) {
      SetEmulatedStream(nullptr);
      Poison(false);
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    ~Pause() {
      Poison(true);
      SetEmulatedStream(stream);
    }
    cudaStream_t stream;
  };

  static void Poison(bool on) {
    at::globalContext().setDeterministicFillUninitializedMemory(on);
    at::globalContext().setDeterministicAlgorithms(on, /*warn_only=*/true);
  }

  cudaStream_t stream_ = nullptr;
};

}  // namespace interlacer::testing
