#include "model/layers/layers.h"

#include <ATen/Functions.h>

namespace interlacer {
namespace {

constexpr double kGroupNormEpsilon = 1e-5;

at::ScalarType TypeOf(Precision precision, const torch::Tensor& parameter) {
  return precision == Precision::kBfloat16 ? at::kBFloat16 : parameter.scalar_type();
}

}  // namespace

Dense::Dense(std::int64_t in_width, std::int64_t out_width, Precision precision)
    : weight(register_parameter("weight", at::zeros({out_width, in_width}))),
      bias(register_parameter("bias", at::zeros({out_width}))),
      precision_(precision) {}

torch::Tensor Dense::forward(const torch::Tensor& x) {
  const at::ScalarType type = TypeOf(precision_, weight);
  return at::linear(x.to(type), weight.to(type), bias.to(type));
}

torch::Tensor Dense::PartialProduct(const torch::Tensor& x, std::int64_t begin) {
  const at::ScalarType type = TypeOf(precision_, weight);
  return at::linear(x.to(type), weight.narrow(1, begin, x.size(-1)).to(type));
}

LayerNorm::LayerNorm(std::int64_t width)
    : scale(register_parameter("scale", at::ones({width}))),
      bias(register_parameter("bias", at::zeros({width}))),
      width_(width) {}

torch::Tensor LayerNorm::forward(const torch::Tensor& x) const {
  return at::layer_norm(x.to(scale.scalar_type()), {width_}, scale, bias, kEpsilon);
}

Convolution::Convolution(std::int64_t in_width, std::int64_t out_width, int kernel_size, int stride,
                         Precision precision)
    : padding_(kernel_size / 2),
      stride_(stride),
      precision_(precision),
      weight_(
          register_parameter("weight", at::zeros({out_width, in_width, kernel_size, kernel_size}))),
      bias_(register_parameter("bias", at::zeros({out_width}))) {}

torch::Tensor Convolution::forward(const torch::Tensor& x) {
  const at::ScalarType type = TypeOf(precision_, weight_);
  return at::conv2d(x.to(type), weight_.to(type), bias_.to(type), stride_, padding_);
}

GroupNormSilu::GroupNormSilu(int group_count, std::int64_t width)
    : group_count_(group_count),
      scale_(register_parameter("scale", at::ones({width}))),
      bias_(register_parameter("bias", at::zeros({width}))) {}

torch::Tensor GroupNormSilu::forward(const torch::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  return at::silu(
      at::group_norm(x, group_count_, scale_.to(type), bias_.to(type), kGroupNormEpsilon));
}

}  // namespace interlacer
