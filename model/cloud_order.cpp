#include "model/cloud_order.h"

#include <ATen/Functions.h>

#include <span>
#include <tuple>
#include <vector>

#include "knn/kernels/morton_code_cuda.h"
#include "knn/spatial_order.h"
#include "model/ops/device.h"
#include "model/torch_status.h"

namespace interlacer {
namespace {

/// About twice the spacing of particles on a surface.
constexpr double kCellEdgeM = 0.01;

torch::Tensor ToIndex(const std::vector<std::int32_t>& values) {
  return at::tensor(values, at::kInt).to(at::kLong);
}

std::vector<std::int32_t> MortonOrderOf(const torch::Tensor& positions_m) {
  const torch::Tensor p = positions_m.detach().to(at::kFloat).contiguous();
  return ValueOrThrow(MortonOrder(
      std::span(p.const_data_ptr<float>(), static_cast<std::size_t>(p.numel())), kCellEdgeM));
}

/// The same on a device, where no position is checked.
torch::Tensor MortonOrderOnDevice(const torch::Tensor& positions_m) {
  const torch::Tensor p = positions_m.detach().to(at::kFloat).contiguous();
  const std::int64_t n = p.size(0);
  const torch::Tensor codes = at::empty({n}, p.options().dtype(at::kLong));
  if (n == 0) return codes;
  const torch::Tensor low_m = at::amin(p, 0);
  CheckLaunch(LaunchMortonCodes(p.const_data_ptr<float>(), n, low_m.const_data_ptr<float>(),
                                kCellEdgeM, codes.mutable_data_ptr<std::int64_t>(), StreamOf(p)),
              "Morton codes");
  return std::get<1>(at::sort(codes, /*stable=*/true, 0, /*descending=*/false));
}

CloudTensors Gather(const CloudTensors& cloud, const torch::Tensor& particle_at) {
  return {cloud.positions_m.index_select(0, particle_at),
          cloud.features.index_select(0, particle_at)};
}

}  // namespace

CloudOrder SpatialOrder(const torch::Tensor& positions_m) {
  if (OnDevice(positions_m)) {
    const torch::Tensor particle_at = MortonOrderOnDevice(positions_m);
    const torch::Tensor places = at::arange(particle_at.size(0), particle_at.options());
    return {particle_at, at::empty_like(particle_at).scatter_(0, particle_at, places)};
  }
  const std::vector<std::int32_t> order = MortonOrderOf(positions_m);
  return {ToIndex(order), ToIndex(InverseOrder(order))};
}

CloudTensors Reorder(const CloudTensors& cloud, const CloudOrder& order) {
  return Gather(cloud, order.particle_at);
}

CloudTensors InSpatialOrder(const CloudTensors& cloud) {
  if (OnDevice(cloud.positions_m)) return Gather(cloud, MortonOrderOnDevice(cloud.positions_m));
  return Gather(cloud, ToIndex(MortonOrderOf(cloud.positions_m)));
}

}  // namespace interlacer
