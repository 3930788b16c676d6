#include "model/lifting/device_lifting.h"

#include <ATen/Functions.h>

#include <string>
#include <tuple>
#include <utility>

#include "model/cuda/backend.h"
#include "model/cuda/device_bytes.h"
#include "model/lifting/lifting.h"
#include "model/network/world_model.h"

namespace interlacer {
namespace {

/// Valid pixels in order; arrays have the length of all pixels.
struct Candidates {
  torch::Tensor positions_m;   ///< [pixels,3]
  torch::Tensor source_index;  ///< [pixels] int64
  std::int64_t count = 0;
};

Candidates Unproject(const CudaBackend& cuda, std::span<const RgbdView> views,
                     const LiftRegion& region, torch::Device device) {
  std::vector<torch::Tensor> uploads;  // must live until the kernels are launched
  std::vector<UnprojectViewDevice> on_device;
  std::int64_t pixels = 0;
  for (const RgbdView& view : views) {
    const PixelRayTables rays = MakePixelRayTables(view.camera);
    const torch::Tensor depth = Upload(std::span(view.depth.pixels_m), device);
    const torch::Tensor x = Upload(std::span(rays.x), device),
                        y = Upload(std::span(rays.y), device);
    uploads.insert(uploads.end(), {depth, x, y});
    on_device.push_back({PixelLiftOf(view.camera, region), view.depth.width_px,
                         view.depth.height_px, PointerTo<float>(depth), PointerTo<double>(x),
                         PointerTo<double>(y), rays.per_pixel});
    pixels += static_cast<std::int64_t>(view.depth.pixels_m.size());
  }
  const auto options = at::TensorOptions().device(device);
  Candidates found{at::empty({pixels, 3}, options.dtype(at::kFloat)),
                   at::empty({pixels}, options.dtype(at::kLong))};
  const torch::Tensor count = at::empty({1}, options.dtype(at::kInt));
  const torch::Tensor scratch = DeviceScratch(cuda.kernels.UnprojectWorkspaceBytes(pixels), count);
  cuda.Check(cuda.kernels.LaunchUnproject(on_device, scratch.mutable_data_ptr(),
                                          {nullptr, found.positions_m.mutable_data_ptr<float>(),
                                           found.source_index.mutable_data_ptr<std::int64_t>(),
                                           count.mutable_data_ptr<std::int32_t>()},
                                          cuda.stream_of(count)),
             "unprojection");
  found.count = count.item<std::int32_t>();
  return found;
}

/// Ascending indices of the candidates drawn.
torch::Tensor Drawn(const CudaBackend& cuda, const Candidates& candidates,
                    const ParticleDraw& draw) {
  const torch::Tensor keys = at::empty({candidates.count}, candidates.source_index.options());
  cuda.Check(
      cuda.kernels.LaunchSubsetKeys(draw.seed, draw.time, candidates.count,
                                    keys.mutable_data_ptr<std::int64_t>(), cuda.stream_of(keys)),
      "draw of particles");
  const torch::Tensor by_key =
      std::get<1>(at::sort(keys, /*stable=*/true, 0, /*descending=*/false));
  return std::get<0>(at::sort(by_key.narrow(0, 0, draw.count)));
}

}  // namespace

StatusOr<LiftedCloud> LiftOnDevice(std::span<const RgbdView> views, const LiftRegion& region,
                                   const ParticleDraw& draw, bool with_colors,
                                   const torch::Tensor& encoded, WorldModel* model) {
  const torch::Device device = model->device();
  const Candidates candidates = Unproject(*model->cuda(), views, region, device);
  if (candidates.count < draw.min_count) return TooFewValidPoints(draw.min_count, candidates.count);
  torch::Tensor positions_m = candidates.positions_m.narrow(0, 0, candidates.count);
  torch::Tensor source_index = candidates.source_index.narrow(0, 0, candidates.count);
  if (candidates.count > draw.count) {
    const torch::Tensor chosen = Drawn(*model->cuda(), candidates, draw);
    positions_m = positions_m.index_select(0, chosen);
    source_index = source_index.index_select(0, chosen);
  }
  torch::Tensor bytes;
  if (with_colors || !encoded.defined()) {
    std::vector<RgbImage> images;
    for (const RgbdView& view : views) images.push_back(view.color);
    bytes = ImageBytes(images, device);
  }
  LiftedCloud lifted;
  lifted.encoded = encoded.defined() ? encoded : model->EncodeImages(ColorsInUnit(bytes));
  lifted.cloud = {positions_m.contiguous(), GatherFeatures(lifted.encoded, source_index)};
  if (with_colors) {
    const torch::Tensor colors =
        bytes.reshape({-1, 3}).index_select(0, source_index).to(at::kCPU).contiguous();
    const auto* values = colors.const_data_ptr<std::uint8_t>();
    lifted.colors_rgb8.assign(values, values + colors.numel());
  }
  return lifted;
}

}  // namespace interlacer
