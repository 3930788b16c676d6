#include "bench/tensors.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "bench/clouds.h"
#include "bench/errors.h"

namespace interlacer::bench {
namespace {

std::span<const double> Values(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<double>(), static_cast<std::size_t>(tensor.numel())};
}

at::Tensor AsDouble(const at::Tensor& tensor) {
  return tensor.detach().to(at::kCPU, at::kDouble).contiguous();
}

}  // namespace

at::Tensor RandomTensor(const std::vector<std::int64_t>& shape, std::uint64_t seed,
                        std::uint32_t draw) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return at::tensor(RandomValues(static_cast<std::size_t>(count), seed, draw), at::kFloat)
      .reshape(shape);
}

double RelativeError(const at::Tensor& got, const at::Tensor& expected) {
  const at::Tensor a = AsDouble(got), b = AsDouble(expected);
  return RelativeL2(Values(a), Values(b));
}

double GradientError(const at::Tensor& got, const at::Tensor& expected) {
  const at::Tensor a = AsDouble(got).flatten(), b = AsDouble(expected).flatten();
  const double a_norm = a.norm().item<double>(), b_norm = b.norm().item<double>();
  if (b_norm == 0) return a_norm;
  const double cosine = at::dot(a, b).item<double>() / (a_norm * b_norm);
  const double worst = std::max(
      {RelativeL2(Values(a), Values(b)), 10 * (1 - cosine), std::fabs(1 - a_norm / b_norm)});
  return std::isfinite(cosine) ? worst : kPoison;
}

void PoisonAllocator(const at::Tensor& like) {
  at::full(like.sizes(), kPoison, like.options().requires_grad(false));
}

}  // namespace interlacer::bench
