#include "model/cuda/backend.h"

#include <ATen/Functions.h>

#include <string>

#include "model/runtime/torch_status.h"

namespace interlacer {

void CudaBackend::Check(CudaError error, const char* kernel) const {
  if (error.ok()) return;
  ThrowIfError(Status(StatusCode::kInternal, reason::DEVICE_LOST,
                      std::string(kernel) + " on CUDA: " + kernels.CudaErrorText(error)));
}

torch::Tensor DeviceScratch(std::size_t size_bytes, const torch::Tensor& like) {
  return at::empty({static_cast<std::int64_t>(size_bytes)}, like.options().dtype(at::kByte));
}

}  // namespace interlacer
