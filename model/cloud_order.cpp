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

}  // namespace

CloudOrder SpatialOrder(const torch::Tensor& positions_m) {
  const torch::Tensor p = positions_m.detach().to(at::kFloat).contiguous();
  const std::vector<std::int32_t> order = ValueOrThrow(MortonOrder(
      std::span(p.const_data_ptr<float>(), static_cast<std::size_t>(p.numel())), kCellEdgeM));
  return {ToIndex(order), ToIndex(InverseOrder(order))};
}

CloudTensors Reorder(const CloudTensors& cloud, const CloudOrder& order) {
  return {cloud.positions_m.index_select(0, order.particle_at),
          cloud.features.index_select(0, order.particle_at)};
}

}  // namespace interlacer
