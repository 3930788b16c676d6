#include "model/cuda/device.h"

#include <ATen/Functions.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <string>

#include "knn/kernels/grid_knn_cuda.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

void* emulated_stream = nullptr;

}  // namespace

bool OnDevice(torch::Device device) { return device.is_cuda() || emulated_stream != nullptr; }

bool OnDevice(const torch::Tensor& tensor) {
  return tensor.is_cuda() || emulated_stream != nullptr;
}

void* StreamOf(const torch::Tensor& tensor) {
  if (emulated_stream != nullptr) return emulated_stream;
  const c10::impl::VirtualGuardImpl device(tensor.device().type());
  return device.getStreamNativeHandle(device.getStream(tensor.device()));
}

void CheckLaunch(int error, const char* kernel) {
  if (error == 0) return;
  ThrowIfError(Status(StatusCode::kInternal, reason::DEVICE_LOST,
                      std::string(kernel) + " on CUDA: " + CudaErrorText(error)));
}

torch::Tensor DeviceScratch(std::size_t size_bytes, const torch::Tensor& like) {
  return at::empty({static_cast<std::int64_t>(size_bytes)}, like.options().dtype(at::kByte));
}

void SetEmulatedStream(void* stream) { emulated_stream = stream; }

}  // namespace interlacer
