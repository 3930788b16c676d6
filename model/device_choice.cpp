#include "model/device_choice.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <exception>
#include <utility>

#include "common/log.h"
#include "knn/kernels/grid_knn_cuda.h"
#include "model/kernels/device_query_cuda.h"

namespace interlacer {
namespace {

constexpr char kTorchCudaLibrary[] = "libtorch_cuda.so";

std::string FirstLineOf(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Registers LibTorch's CUDA operations; empty, or what is missing.
std::string OpenTorchCuda() {
  // Stays open: its operations are registered for good.
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
    return FirstLineOf(error.what());
  }
  return {};
}

/// Empty, or why the device cannot be used.
std::string WhyNot(int index) {
  const int count = CudaDeviceCount();
  if (count == 0) return "no CUDA device answers to this build";
  if (index >= count) {
    return "there are " + std::to_string(count) + " CUDA devices, none of index " +
           std::to_string(index);
  }
  static const std::string missing = OpenTorchCuda();
  return missing;
}

DeviceChoice CudaDevice(int index) {
  DeviceChoice choice;
  choice.device = c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
  choice.name = "cuda:" + std::to_string(index);
  char name[256];
  if (CudaDeviceName(index, name, sizeof(name)) == 0) choice.name += std::string(" ") + name;
  c10::impl::VirtualGuardImpl(c10::kCUDA).setDevice(choice.device);
  return choice;
}

}  // namespace

StatusOr<DeviceChoice> ChooseDevice(DeviceRequest request, int index) {
  if (request == DeviceRequest::kCpu) return DeviceChoice{};
  const std::string why_not = WhyNot(index);
  if (why_not.empty()) return CudaDevice(index);
  if (request == DeviceRequest::kCuda) {
    return FailedPrecondition(reason::DEVICE_ABSENT,
                              "device: expected a CUDA device for the model, got none: " + why_not +
                                  "; use cpu or auto")
        .WithField("device");
  }
  DeviceChoice choice;
  choice.is_fallback = true;
  choice.fallback_reason = why_not;
  Log(LogLevel::kInfo, "computing on the CPU", {{"why", why_not}});
  return choice;
}

}  // namespace interlacer
