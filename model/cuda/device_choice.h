#pragma once

/// Turns a wish for a device into one that tensors can live on.
///
/// LibTorch's CUDA part is a library of its own, some GB with what it needs; it is opened when a
/// CUDA device is asked for and answers, so that one program serves machines with and without.
/// A choice of CUDA has torch compute float32 in float32, not in TF32, in the whole process.
/// Errors: FAILED_PRECONDITION DEVICE_ABSENT for kCuda, saying what is missing; kAuto takes the CPU
/// instead and says why. Threads: safe; a first choice of CUDA must come before other threads use
/// torch.

#include <c10/core/Device.h>

#include <string>
#include <string_view>

#include "common/device.h"
#include "common/status.h"
#include "model/config.h"

namespace interlacer {

struct DeviceChoice {
  c10::Device device{c10::kCPU};
  std::string name = "cpu";     ///< or "cuda:0 NAME"
  bool is_fallback = false;     ///< kAuto, and no CUDA device could be used
  std::string fallback_reason;  ///< why not

  DeviceKind kind() const { return device.is_cuda() ? DeviceKind::kCuda : DeviceKind::kCpu; }
};

/// `index`: which of several CUDA devices. A fallback is logged.
StatusOr<DeviceChoice> ChooseDevice(DeviceRequest request, int index = 0);

/// UNIMPLEMENTED FEATURE_NOT_BUILT at `field` of a configuration: what a device's kernels take, and
/// what came. `advice` ends the message.
Status NotOnDevice(std::string field, std::string expected, std::string got,
                   std::string_view advice = "");

/// UNIMPLEMENTED FEATURE_NOT_BUILT naming the field where a device of this kind has no kernels for
/// the model: graph attention wider than kMaxGrfCudaWidth, 256 channels, or another index than the
/// exact grid. A device chosen by kAuto refuses too. Other layers of models that the fused kernels
/// do not take, such as wider ones, run one by one through torch.
Status CheckFitsDevice(const InterlacerConfig& config, DeviceKind device);

/// Empty, or that the kernels need a newer device than one of this compute capability.
std::string WhyTooOld(int index, int major, int minor);

/// Forbids torch to round float32 products to TF32 in convolutions and matrix products.
void ComputeFloat32AsIs();

/// Has cuDNN take only algorithms that give equal bits for equal inputs, in the whole process.
void ConvolveReproducibly();

}  // namespace interlacer
