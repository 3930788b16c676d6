#include "model/network/unet.h"

#include <ATen/Functions.h>

#include <string>

#include "model/ops/deterministic_gradients.h"

namespace interlacer {
namespace {

/// Pixels of edge replication that extend `size` to the next multiple of `step`.
std::int64_t PaddingTo(std::int64_t size, std::int64_t step) { return (step - size % step) % step; }

}  // namespace

ConvolutionPair::ConvolutionPair(int in_width, int out_width, int group_count, Precision precision)
    : first_(register_module("first",
                             std::make_shared<Convolution>(in_width, out_width, 3, 1, precision))),
      second_(register_module(
          "second", std::make_shared<Convolution>(out_width, out_width, 3, 1, precision))),
      first_norm_(
          register_module("first_norm", std::make_shared<GroupNormSilu>(group_count, out_width))),
      second_norm_(register_module("second_norm",
                                   std::make_shared<GroupNormSilu>(group_count, out_width))) {}

torch::Tensor ConvolutionPair::forward(const torch::Tensor& x) {
  return second_norm_->forward(second_->forward(first_norm_->forward(first_->forward(x))));
}

Unet::Unet(const EncoderConfig& config, Precision precision) {
  const int groups = config.norm_group_count;
  const auto& widths = config.widths;
  for (std::size_t level = 0; level < widths.size(); ++level) {
    const std::string id = std::to_string(level);
    const int above = level == 0 ? 3 : widths[level - 1];
    if (level > 0) {
      downs_.push_back(register_module(
          "down" + id, std::make_shared<Convolution>(above, above, 3, 2, precision)));
    }
    down_pairs_.push_back(register_module(
        "level" + id, std::make_shared<ConvolutionPair>(above, widths[level], groups, precision)));
  }
  for (std::size_t level = widths.size() - 1; level > 0; --level) {
    const std::string id = std::to_string(level - 1);
    const int width = widths[level - 1];
    ups_.push_back(register_module(
        "up" + id, std::make_shared<Convolution>(widths[level], width, 3, 1, precision)));
    up_pairs_.push_back(register_module(
        "merge" + id, std::make_shared<ConvolutionPair>(2 * width, width, groups, precision)));
  }
  last_ = register_module(
      "last", std::make_shared<Convolution>(widths.front(), config.feature_width, 1, 1, precision));
  if (config.color_skip) {
    // Computed in full precision: three products a feature cost little and carry the colours.
    color_ = register_module(
        "color", std::make_shared<Convolution>(3, config.feature_width, 1, 1, Precision::kNative));
  }
}

torch::Tensor Unet::forward(const torch::Tensor& rgb, const CudaBackend* cuda) {
  const std::int64_t height = rgb.size(2), width = rgb.size(3);
  const std::int64_t step = std::int64_t{1} << downs_.size();
  const torch::Tensor input = 2 * rgb - 1;
  torch::Tensor x =
      at::replication_pad2d(input, {0, PaddingTo(width, step), 0, PaddingTo(height, step)});
  std::vector<torch::Tensor> skips;
  for (std::size_t level = 0; level < down_pairs_.size(); ++level) {
    if (level > 0) x = downs_[level - 1]->forward(x);
    x = down_pairs_[level]->forward(x);
    skips.push_back(x);
  }
  for (std::size_t i = 0; i < ups_.size(); ++i) {
    const torch::Tensor& skip = skips[skips.size() - 2 - i];
    x = up_pairs_[i]->forward(at::cat({skip, ups_[i]->forward(DoubleSize(x, cuda))}, 1));
  }
  x = last_->forward(x).to(rgb.scalar_type());
  x = x.narrow(2, 0, height).narrow(3, 0, width);
  return color_ ? x + color_->forward(input) : x;
}

}  // namespace interlacer
