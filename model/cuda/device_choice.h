#pragma once

/// Chooses the device for a requested one: the CPU, or a CUDA device that is present and usable.
///
/// LibTorch's CUDA part is a library of its own, some GB with its dependencies; it is opened only
/// when a CUDA device is requested and present, so that one program serves machines with and
/// without a GPU. Choosing CUDA makes torch compute float32 in float32, not in TF32, in the whole
/// process. Errors: FAILED_PRECONDITION DEVICE_ABSENT for kCuda, saying what is missing; kAuto
/// takes the CPU instead and says why. Threads: safe; the first choice of CUDA must come before
/// other threads use torch.

#include <c10/core/Device.h>

#include <string>
#include <string_view>

#include "common/device.h"
#include "common/status.h"

namespace interlacer {

struct CudaBackend;

struct DeviceChoice {
  c10::Device device{c10::kCPU};
  const CudaBackend* cuda = nullptr;
  std::string name = "cpu";     ///< or "cuda:0 NAME"
  bool is_fallback = false;     ///< kAuto found no CUDA device that it could use
  std::string fallback_reason;  ///< empty without a fallback

  DeviceKind kind() const { return device.is_cuda() ? DeviceKind::kCuda : DeviceKind::kCpu; }
};

/// `cuda` is the program's backend (model/cuda/built_backend.h); without one there is no CUDA
/// device. `index` selects one of several. A fallback is logged.
StatusOr<DeviceChoice> ChooseDevice(DeviceRequest request, const CudaBackend* cuda, int index = 0);

/// The CPU, where kAuto would have taken a device that does not fit the model; logged.
DeviceChoice CpuInstead(std::string reason);

/// Returns an empty string, or that the kernels need a newer device than this compute capability.
std::string WhyTooOld(int index, int major, int minor);

/// Whether torch's convolutions and matrix products may round float32 to TF32, in the whole
/// process.
void AllowTf32(bool allowed);

/// Restricts cuDNN to deterministic algorithms in the whole process.
void ConvolveReproducibly();

}  // namespace interlacer
