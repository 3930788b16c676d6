#include "model/ops/deterministic_gradients.h"

#include <ATen/Functions.h>
#include <ATen/TensorIndexing.h>
#include <ATen/core/grad_mode.h>

namespace interlacer {
namespace {

bool NeedsOrder(const torch::Tensor& x, const CudaBackend* cuda) {
  return cuda != nullptr && at::GradMode::is_enabled() && x.requires_grad();
}

/// Doubles an axis: each output is 3/4 of a pixel and 1/4 of its neighbour before or after it; the
/// border pixel is its own neighbour.
torch::Tensor DoubleAxis(const torch::Tensor& x, std::int64_t axis) {
  const std::int64_t n = x.size(axis);
  const torch::Tensor before = at::cat({x.narrow(axis, 0, 1), x.narrow(axis, 0, n - 1)}, axis);
  const torch::Tensor after = at::cat({x.narrow(axis, 1, n - 1), x.narrow(axis, n - 1, 1)}, axis);
  return at::stack({at::lerp(x, before, 0.25), at::lerp(x, after, 0.25)}, axis + 1)
      .flatten(axis, axis + 1);
}

}  // namespace

torch::Tensor SelectRows(const torch::Tensor& x, const torch::Tensor& index,
                         const CudaBackend* cuda) {
  // The gradient of index() is accumulated after a sort, that of index_select() by atomics.
  return NeedsOrder(x, cuda) ? x.index({index}) : x.index_select(0, index);
}

torch::Tensor DoubleSize(const torch::Tensor& x, const CudaBackend* cuda) {
  if (NeedsOrder(x, cuda)) return DoubleSizeBySums(x);
  return at::upsample_bilinear2d(x, {2 * x.size(2), 2 * x.size(3)}, /*align_corners=*/false);
}

torch::Tensor DoubleSizeBySums(const torch::Tensor& x) { return DoubleAxis(DoubleAxis(x, 3), 2); }

}  // namespace interlacer
