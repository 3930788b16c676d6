#include "model/cuda/device_choice.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <exception>
#include <utility>

#include "common/log.h"
#include "model/cuda/backend.h"
#include "model/runtime/torch_errors.h"

namespace interlacer {
namespace {

constexpr char kTorchCudaLibrary[] = "libtorch_cuda.so";
/// The kernels multiply bfloat16 on tensor cores, which needs this compute capability.
constexpr int kLeastComputeCapabilityMajor = 8;

/// Loads LibTorch's CUDA operations; returns an empty string, or what is missing.
std::string OpenTorchCuda() {
  // Never closed: its operations stay registered.
  if (dlopen(kTorchCudaLibrary, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    const char* const error = dlerror();
    return error != nullptr ? error : std::string(kTorchCudaLibrary) + " cannot be opened";
  }
  if (!at::globalContext().hasCUDA()) {
    return std::string(kTorchCudaLibrary) + " was opened after torch had settled on the CPU";
  }
  try {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  } catch (const std::exception& error) {
    return FirstLine(error.what());
  }
  return {};
}

/// Returns an empty string, or why the device cannot be used.
std::string WhyNot(const CudaBackend* cuda, int index) {
  const int count = cuda == nullptr ? 0 : cuda->kernels.CudaDeviceCount();
  if (count == 0) return "no CUDA device answers to this build";
  if (index >= count) {
    return "there are " + std::to_string(count) + " CUDA devices, none of index " +
           std::to_string(index);
  }
  int major = 0, minor = 0;
  if (const CudaError error = cuda->kernels.CudaComputeCapability(index, &major, &minor);
      !error.ok()) {
    return "CUDA device " + std::to_string(index) +
           " does not answer: " + cuda->kernels.CudaErrorText(error);
  }
  if (std::string too_old = WhyTooOld(index, major, minor); !too_old.empty()) return too_old;
  static const std::string missing = OpenTorchCuda();
  return missing;
}

DeviceChoice CudaDevice(const CudaBackend* cuda, int index) {
  DeviceChoice choice;
  choice.cuda = cuda;
  choice.device = c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
  choice.name = "cuda:" + std::to_string(index);
  char name[256];
  if (cuda->kernels.CudaDeviceName(index, name, sizeof(name)).ok())
    choice.name += std::string(" ") + name;
  AllowTf32(false);
  c10::impl::VirtualGuardImpl(c10::kCUDA).setDevice(choice.device);
  return choice;
}

}  // namespace

std::string WhyTooOld(int index, int major, int minor) {
  if (major >= kLeastComputeCapabilityMajor) return {};
  return "CUDA device " + std::to_string(index) + " has compute capability " +
         std::to_string(major) + "." + std::to_string(minor) + ", expected " +
         std::to_string(kLeastComputeCapabilityMajor) + ".0 or newer";
}

void AllowTf32(bool allowed) {
  at::globalContext().setAllowTF32CuDNN(allowed);
  at::globalContext().setAllowTF32CuBLAS(allowed);
}

void ConvolveReproducibly() {
  at::globalContext().setDeterministicCuDNN(true);
  // Benchmarking would not always choose the same algorithm.
  at::globalContext().setBenchmarkCuDNN(false);
}

StatusOr<DeviceChoice> ChooseDevice(DeviceRequest request, const CudaBackend* cuda, int index) {
  if (request == DeviceRequest::kCpu) return DeviceChoice{};
  const std::string why_not = WhyNot(cuda, index);
  if (why_not.empty()) return CudaDevice(cuda, index);
  if (request == DeviceRequest::kCuda) {
    return FailedPrecondition(reason::DEVICE_ABSENT,
                              "device: expected a CUDA device for the model, got none: " + why_not +
                                  "; use cpu or auto")
        .WithField("device");
  }
  return CpuInstead(why_not);
}

DeviceChoice CpuInstead(std::string reason) {
  DeviceChoice choice;
  choice.is_fallback = true;
  choice.fallback_reason = std::move(reason);
  Log(LogLevel::kInfo, "computing on the CPU", {{"why", choice.fallback_reason}});
  return choice;
}

}  // namespace interlacer
