#include "model/graph/cloud_order.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <span>
#include <vector>

#include "knn/spatial_order.h"
#include "model/cuda/backend.h"
#include "model/runtime/torch_status.h"

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

CloudOrder OrderOnHost(const torch::Tensor& positions_m) {
  const std::vector<std::int32_t> order = MortonOrderOf(positions_m);
  return {ToIndex(order), ToIndex(InverseOrder(order))};
}

CloudTensors Gather(const CloudTensors& cloud, const torch::Tensor& particle_at) {
  return {cloud.positions_m.index_select(0, particle_at),
          cloud.features.index_select(0, particle_at)};
}

/// A cloud on a device and its order; positions are not checked there.
class CloudOnDevice {
 public:
  explicit CloudOnDevice(const torch::Tensor& positions_m)
      : positions_m_(positions_m.detach().to(at::kFloat).contiguous()) {
    const auto indices = positions_m_.options().dtype(at::kLong);
    order_ = {at::empty({positions_m_.size(0)}, indices),
              at::empty({positions_m_.size(0)}, indices)};
    view_.positions_m = positions_m_.const_data_ptr<float>();
    view_.n = positions_m_.size(0);
    view_.point_at = order_.particle_at.mutable_data_ptr<std::int64_t>();
    view_.place_of = order_.place_of.mutable_data_ptr<std::int64_t>();
  }

  /// Permutes the cloud's rows too, in the same launch; they must be contiguous float32.
  void PermuteRows(const CloudTensors& cloud) {
    ordered_ = {at::empty_like(cloud.positions_m), at::empty_like(cloud.features)};
    view_.features = cloud.features.const_data_ptr<float>();
    view_.ordered_positions_m = ordered_.positions_m.mutable_data_ptr<float>();
    view_.ordered_features = ordered_.features.mutable_data_ptr<float>();
  }

  const MortonCloud& view() const { return view_; }
  const CloudOrder& order() const { return order_; }
  const CloudTensors& ordered() const { return ordered_; }

 private:
  torch::Tensor positions_m_;
  CloudOrder order_;
  CloudTensors ordered_;
  MortonCloud view_;
};

void LaunchOrder(const CudaBackend& cuda, const CloudOnDevice& first, const MortonCloud& second,
                 int feature_width, const torch::Tensor& like) {
  const torch::Tensor workspace =
      DeviceScratch(cuda.kernels.MortonOrderWorkspaceBytes(first.view().n, second.n), like);
  cuda.Check(cuda.kernels.LaunchMortonOrder(first.view(), second, feature_width, kCellEdgeM,
                                            workspace.mutable_data_ptr(), cuda.stream_of(like)),
             "Morton order");
}

/// Whether a kernel may copy the cloud's rows: no gradient passes through them.
bool ArePlainRows(const CloudTensors& cloud) {
  const auto plain = [](const torch::Tensor& t) {
    return t.scalar_type() == at::kFloat && t.is_contiguous();
  };
  return !at::GradMode::is_enabled() && plain(cloud.positions_m) && plain(cloud.features);
}

OrderedClouds OrderedOnDevice(const CudaBackend& cuda, const CloudTensors& older,
                              const CloudTensors& newer) {
  CloudOnDevice first(older.positions_m), second(newer.positions_m);
  const bool with_rows = ArePlainRows(older) && ArePlainRows(newer) &&
                         older.features.size(1) == newer.features.size(1);
  if (with_rows) {
    first.PermuteRows(older);
    second.PermuteRows(newer);
  }
  LaunchOrder(cuda, first, second.view(), static_cast<int>(newer.features.size(1)),
              newer.positions_m);
  if (with_rows) return {first.ordered(), second.ordered(), second.order()};
  return {Gather(older, first.order().particle_at), Gather(newer, second.order().particle_at),
          second.order()};
}

}  // namespace

CloudOrder SpatialOrder(const torch::Tensor& positions_m, const CudaBackend* cuda) {
  if (cuda == nullptr) return OrderOnHost(positions_m);
  const CloudOnDevice cloud(positions_m);
  LaunchOrder(*cuda, cloud, {}, 0, positions_m);
  return cloud.order();
}

OrderedClouds InSpatialOrder(const CloudTensors& older, const CloudTensors& newer,
                             const CudaBackend* cuda) {
  if (cuda != nullptr) return OrderedOnDevice(*cuda, older, newer);
  const CloudOrder older_order = OrderOnHost(older.positions_m);
  const CloudOrder newer_order = OrderOnHost(newer.positions_m);
  return {Gather(older, older_order.particle_at), Gather(newer, newer_order.particle_at),
          newer_order};
}

}  // namespace interlacer
