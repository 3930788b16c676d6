#pragma once

/// A scene's surfels on a CUDA device, which draws them (render/kernels/observed_discs_cuda.h) in
/// place of the host, with equal bits. Only places go there and pictures come back.
///
/// Errors: StatusException DEVICE_LOST of a kernel that could not be launched, torch's exceptions.
/// Threads: Draw may run together. Waits for the device.

#include <torch/types.h>

#include <vector>

#include "render/observed_renderer.h"

namespace interlacer {

struct CudaBackend;

class DeviceSurfels : public SurfelDrawer {
 public:
  /// Copies what does not change.
  DeviceSurfels(const ObservedRenderer& renderer, const CudaBackend& cuda, torch::Device device);

  /// `surfels` are those of the renderer, wherever they are now.
  ObservedPicture Draw(const DiscView& view, const SurfelArrays& surfels) const override;

 private:
  struct Frame {
    torch::Tensor rgb, depth_m;
  };

  const CudaBackend& cuda_;
  torch::Device device_;
  torch::Tensor seen_m_, pixel_m_, neighbors_, frame_of_, pixel_of_, rgb_;
  std::vector<Frame> frames_;
};

}  // namespace interlacer
