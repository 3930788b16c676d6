#include "model/layers/feed_forward.h"

#include <ATen/Functions.h>

#include "model/layers/fused_layers.h"

namespace interlacer {

FeedForward::FeedForward(std::int64_t in_width, std::int64_t hidden_width, std::int64_t out_width,
                         Precision precision)
    : in_(register_module("in", std::make_shared<Dense>(in_width, hidden_width, precision))),
      out_(register_module("out", std::make_shared<Dense>(hidden_width, out_width, precision))) {}

torch::Tensor FeedForward::forward(const torch::Tensor& x) {
  return out_->forward(at::gelu(in_->forward(x)));
}

torch::Tensor FeedForward::AddTo(torch::Tensor x, LayerNorm& norm, const CudaBackend* cuda) {
  if (cuda == nullptr && CanFuse(x, {in_.get(), out_.get()})) {
    AddFeedForwardTo(x, norm, *in_, *out_);
    return x;
  }
  if (cuda != nullptr && CanFuseOnDevice(x, *cuda)) {
    AddFeedForwardOnDevice(*cuda, x, OnDevice(norm));
    return x;
  }
  return x + forward(norm.forward(x));
}

bool FeedForward::CanFuseOnDevice(const torch::Tensor& x, const CudaBackend& cuda) const {
  return interlacer::CanFuseOnDevice(cuda, x, {in_.get(), out_.get()});
}

DeviceFeedForward FeedForward::OnDevice(const LayerNorm& norm) {
  return {norm, *in_, *out_, packed_};
}

}  // namespace interlacer
