#include "model/ops/device_surfels.h"

#include <span>

#include "model/cuda/backend.h"
#include "model/cuda/device_bytes.h"

namespace interlacer {
namespace {

template <typename T>
torch::Tensor UploadRows(const T* values, std::int64_t count, torch::Device device) {
  return Upload(std::span(values, static_cast<std::size_t>(count)), device);
}

}  // namespace

DeviceSurfels::DeviceSurfels(const ObservedRenderer& renderer, const CudaBackend& cuda,
                             torch::Device device)
    : cuda_(cuda), device_(device) {
  const SurfelArrays host = renderer.SurfelsAt(renderer.positions_m().data());
  seen_m_ = UploadRows(host.seen_m, 3 * host.count, device);
  pixel_m_ = UploadRows(host.pixel_m, host.count, device);
  neighbors_ = UploadRows(host.neighbors, host.count, device);
  frame_of_ = UploadRows(host.frame_of, host.count, device);
  pixel_of_ = UploadRows(host.pixel_of, host.count, device);
  rgb_ = UploadRows(host.rgb, 3 * host.count, device);
  for (const ObservedFrame& frame : renderer.frames()) {
    frames_.push_back({Upload(std::span(frame.color.pixels), device),
                       Upload(std::span(frame.depth.pixels_m), device)});
  }
}

ObservedPicture DeviceSurfels::Draw(const DiscView& view, const SurfelArrays& surfels) const {
  const torch::Tensor positions_m = UploadRows(surfels.positions_m, 3 * surfels.count, device_);
  const SurfelArrays on_device{surfels.count,
                               PointerTo<float>(seen_m_),
                               PointerTo<float>(positions_m),
                               PointerTo<float>(pixel_m_),
                               PointerTo<SurfelNeighbors>(neighbors_),
                               PointerTo<std::int32_t>(frame_of_),
                               PointerTo<std::int32_t>(pixel_of_),
                               PointerTo<std::uint8_t>(rgb_)};
  DiscView view_on_device = view;
  if (view.own_frame >= 0) {
    const Frame& own = frames_.at(static_cast<std::size_t>(view.own_frame));
    view_on_device.own_rgb = PointerTo<std::uint8_t>(own.rgb);
    view_on_device.own_depth_m = PointerTo<float>(own.depth_m);
  }
  const std::int64_t pixels = std::int64_t{view.width_px} * view.height_px;
  const CudaRenderKernels& kernels = cuda_.kernels.render;
  const torch::Tensor workspace = DeviceScratch(
      kernels.ObservedWorkspaceBytes(surfels.count, view.width_px, view.height_px), seen_m_);
  // Colour, depth, coverage: one copy back.
  const torch::Tensor drawn = at::empty({5 * pixels}, seen_m_.options().dtype(at::kFloat));
  float* const values = drawn.mutable_data_ptr<float>();
  cuda_.Check(kernels.LaunchObservedDiscs(view_on_device, on_device, workspace.mutable_data_ptr(),
                                          {values, values + 3 * pixels, values + 4 * pixels},
                                          cuda_.stream_of(drawn)),
              "observed discs");
  const torch::Tensor host = drawn.to(at::kCPU);
  const float* const color = host.const_data_ptr<float>();
  const float *const depth_m = color + 3 * pixels, *const coverage = depth_m + pixels;
  return {{view.width_px, view.height_px, 3, {color, depth_m}},
          {view.width_px, view.height_px, {depth_m, coverage}},
          {coverage, coverage + pixels}};
}

}  // namespace interlacer
