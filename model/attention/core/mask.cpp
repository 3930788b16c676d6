#include "model/attention/core/mask.h"

#include <ATen/Functions.h>

#include "common/check.h"

namespace interlacer::attention {

torch::Tensor WithoutNoise(const torch::Tensor& x, const torch::Tensor& noise) {
  const torch::Tensor numbers = x.detach(), is_noise = numbers.abs() <= noise;
  if (!x.requires_grad()) return x.masked_fill(is_noise, 0);
  return x - numbers.masked_fill(is_noise.logical_not(), 0);
}

torch::Tensor Mask::Product(const torch::Tensor&) const {
  INTERLACER_CHECK(false, "this mask has no product");
  return {};
}

MaskPairs Mask::Pairs() const {
  INTERLACER_CHECK(false, "this mask has no pairs");
  return {};
}

}  // namespace interlacer::attention
