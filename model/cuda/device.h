#pragma once

/// Whether an operation on a tensor runs on a CUDA device, and how its kernels are launched.
///
/// Operations on tensors of a CUDA device go to the kernels of */kernels/*_cuda.h: pointers of the
/// tensors, torch's current stream, scratch memory from torch's allocator in the order of the
/// stream. Nothing here waits for the device. Errors: StatusException INTERNAL DEVICE_LOST for a
/// kernel that could not be launched. Threads: as the operation.

#include <torch/types.h>

#include <cstddef>

namespace interlacer {

bool OnDevice(torch::Device device);
bool OnDevice(const torch::Tensor& tensor);

/// The current stream of the tensor's device, an opaque cudaStream_t.
void* StreamOf(const torch::Tensor& tensor);

/// Throws if a launcher returned an error.
void CheckLaunch(int error, const char* kernel);

/// Uninitialised memory on the device of `like`; may be released once its kernels are launched.
torch::Tensor DeviceScratch(std::size_t size_bytes, const torch::Tensor& like);

/// For tests that link the kernels of tests/device/emulation: tensors in host memory count as
/// device tensors with this stream until null is passed. Not thread-safe.
void SetEmulatedStream(void* stream);

}  // namespace interlacer
