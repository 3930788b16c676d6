#include "model/cloud_order.h"

#include <ATen/Functions.h>

#include <span>
#include <vector>

#include "knn/spatial_order.h"
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

CloudTensors Gather(const CloudTensors& cloud, const torch::Tensor& particle_at) {
  return {cloud.positions_m.index_select(0, particle_at),
          cloud.features.index_select(0, particle_at)};
}

}  // namespace

CloudOrder SpatialOrder(const torch::Tensor& positions_m) {
  const std::vector<std::int32_t> order = MortonOrderOf(positions_m);
  return {ToIndex(order), ToIndex(InverseOrder(order))};
}

CloudTensors Reorder(const CloudTensors& cloud, const CloudOrder& order) {
  return Gather(cloud, order.particle_at);
}

CloudTensors InSpatialOrder(const CloudTensors& cloud) {
  return Gather(cloud, ToIndex(MortonOrderOf(cloud.positions_m)));
}

}  // namespace interlacer
