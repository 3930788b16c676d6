#include "model/training/motion_regularization.h"

#include <ATen/Functions.h>

#include "model/graph/token_neighbors.h"
#include "model/ops/deterministic_gradients.h"

namespace interlacer {
namespace {

constexpr double kSmoothM = 1e-3;
constexpr double kSmoothFeature = 1e-2;
/// Keeps the gradient of a distance finite where particles coincide.
constexpr double kSmoothDistanceM = 1e-4;

torch::Tensor MeanLength(const torch::Tensor& rows, double smooth) {
  if (rows.size(0) == 0) return rows.sum();
  return ((rows.square().sum(1) + smooth * smooth).sqrt() - smooth).mean();
}

torch::Tensor Distances(const torch::Tensor& positions_m, const torch::Tensor& from,
                        const torch::Tensor& to, const CudaBackend* cuda) {
  const torch::Tensor difference_m =
      SelectRows(positions_m, to, cuda) - SelectRows(positions_m, from, cuda);
  return (difference_m.square().sum(1) + kSmoothDistanceM * kSmoothDistanceM).sqrt();
}

}  // namespace

torch::Tensor MeanDisplacement(const CloudTensors& from, const CloudTensors& to) {
  return MeanLength(to.positions_m - from.positions_m, kSmoothM);
}

torch::Tensor MeanFeatureChange(const CloudTensors& from, const CloudTensors& to) {
  return MeanLength(to.features - from.features, kSmoothFeature);
}

Stretch::Stretch(const torch::Tensor& observed_m, const CudaBackend* cuda) : cuda_(cuda) {
  const KnnGraph graph = NeighborGraph(observed_m.detach().to(at::kCPU), kNeighborCount);
  const at::Device device = observed_m.device();
  to_ = at::tensor(graph.neighbors, at::kLong).to(device);
  from_ = at::arange(graph.n, at::kLong).repeat_interleave(graph.out_degree).to(device);
  observed_m_ = Distances(observed_m.detach(), from_, to_, cuda_);
}

torch::Tensor Stretch::Mean(const torch::Tensor& positions_m) const {
  if (from_.numel() == 0) return positions_m.sum() * 0;
  return (Distances(positions_m, from_, to_, cuda_) - observed_m_).abs().clamp_max(kMostM).mean();
}

}  // namespace interlacer
