#pragma once

/// A device for tests of the model's wiring, where there is none: a backend whose kernels run on
/// the CPU (tests/device/emulation) on tensors in host memory. While one lives, memory that torch
/// gives without filling it holds NaN or the largest integer. Not thread-safe.

#include <ATen/Context.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "model/cuda/backend.h"

namespace interlacer::testing {

class EmulatedDevice {
 public:
  EmulatedDevice() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    Poison(true);
  }
  EmulatedDevice(const EmulatedDevice&) = delete;
  EmulatedDevice& operator=(const EmulatedDevice&) = delete;
  ~EmulatedDevice() {
    Poison(false);
    (void)cudaStreamDestroy(stream_);
  }

  /// For as long as this is the only device.
  const CudaBackend* backend() const {
    static const CudaBackend emulated{
        {}, [](const torch::Tensor&) -> CudaStream { return stream_; }, &Rerun};
    return &emulated;
  }

 private:
  /// A recording that runs the work again.
  class Rerunning : public RecordedWork {
   public:
    explicit Rerunning(std::function<void()> work) : work_(std::move(work)) {}
    void Replay() override { work_(); }

   private:
    std::function<void()> work_;
  };

  static std::unique_ptr<RecordedWork> Rerun(torch::Device, std::function<void()> work) {
    work();
    return std::make_unique<Rerunning>(std::move(work));
  }

  static void Poison(bool on) {
    at::globalContext().setDeterministicFillUninitializedMemory(on);
    at::globalContext().setDeterministicAlgorithms(on, /*warn_only=*/true);
  }

  inline static cudaStream_t stream_ = nullptr;
};

}  // namespace interlacer::testing
