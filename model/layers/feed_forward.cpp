#include "model/layers/feed_forward.h"

#include <ATen/Functions.h>

namespace interlacer {

FeedForward::FeedForward(std::int64_t in_width, std::int64_t hidden_width, std::int64_t out_width,
                         Precision precision)
    : in_(register_module("in", std::make_shared<Dense>(in_width, hidden_width, precision))),
      out_(register_module("out", std::make_shared<Dense>(hidden_width, out_width, precision))) {}

torch::Tensor FeedForward::forward(const torch::Tensor& x) {
  return out_->forward(at::gelu(in_->forward(x)));
}

}  // namespace interlacer
