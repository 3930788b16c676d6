#pragma once

/// U-Net that computes per-pixel features of colour images.
///
///   [b,3,h,w] colour in [0,1]  ->  [b,feature_width,h,w], any h and w >= 1
/// Level l has width w_l: two 3x3 convolutions, each with group norm and SiLU. Down: 3x3 stride 2.
/// Up: bilinear x2, 3x3 convolution to w_{l-1}, skip concatenated, two more. Last: 1x1, no
/// activation, plus, with a colour skip, a 1x1 convolution of the input. The input is 2 rgb - 1,
/// padded by edge replication to a multiple of 2^(levels-1) and cropped back. Threads: as torch
/// modules. Source: hd-vpd (image encoder); unet.

#include <torch/nn/module.h>

#include <memory>
#include <vector>

#include "model/config.h"
#include "model/layers/layers.h"

namespace interlacer {

struct CudaBackend;

/// Two 3x3 convolutions, each with group norm and SiLU.
class ConvolutionPair : public torch::nn::Module {
 public:
  ConvolutionPair(int in_width, int out_width, int group_count, Precision precision);
  torch::Tensor forward(const torch::Tensor& x);

 private:
  std::shared_ptr<Convolution> first_, second_;
  std::shared_ptr<GroupNormSilu> first_norm_, second_norm_;
};

class Unet : public torch::nn::Module {
 public:
  Unet(const EncoderConfig& config, Precision precision);
  /// `cuda` is null on the host.
  torch::Tensor forward(const torch::Tensor& rgb, const CudaBackend* cuda = nullptr);

 private:
  std::vector<std::shared_ptr<ConvolutionPair>> down_pairs_, up_pairs_;
  std::vector<std::shared_ptr<Convolution>> downs_, ups_;
  std::shared_ptr<Convolution> last_;
  std::shared_ptr<Convolution> color_;  ///< null without a colour skip
};

}  // namespace interlacer
