#include "model/attention/message_passing.h"

#include <ATen/Functions.h>

#include "model/ops/deterministic_gradients.h"

namespace interlacer {

MessagePassing::MessagePassing(const NetworkConfig& config, Precision precision)
    : offset_scale_m_(config.local.offset_scale_m) {
  const int d = config.width, hidden = config.local.message_width;
  const auto mlp = [&](const char* name, int in) {
    return register_module(name, std::make_shared<FeedForward>(in, hidden, d, precision));
  };
  message_ = mlp("message", 2 * d + 3);
  update_ = mlp("update", 2 * d);
  follow_ = mlp("follow", 2 * d + 3);
  score_ = register_parameter("score", at::zeros({hidden}));
}

/// Common factors are computed once: the first layer of a pair is a sum of terms of its two tokens
/// and of their offset, and the weighted mean of messages is the last layer applied to the weighted
/// mean of its inputs.
torch::Tensor MessagePassing::Forward(const torch::Tensor& h, const TokenGraph& graph) {
  const AnchorGraph& g = *graph.anchors;
  const std::int64_t d = h.size(1), anchors = g.neighbors.size(0), k = g.neighbors.size(1);
  const at::ScalarType type = h.scalar_type();
  // The layer uses the positions once: their gradient has the same bits however blocks are joined.
  const torch::Tensor x = graph.positions_m / offset_scale_m_;
  const torch::Tensor anchor_h = h.index_select(0, g.anchors);
  const torch::Tensor anchor_x = x.index_select(0, g.anchors);

  Dense& pair = message_->in();
  const torch::Tensor neighbor = g.neighbors.flatten();
  const torch::Tensor offsets =
      SelectRows(x, neighbor, graph.cuda).view({anchors, k, 3}) - anchor_x.unsqueeze(1);
  const torch::Tensor hidden = (pair.PartialProduct(anchor_h, 0) + pair.bias).unsqueeze(1) +
                               SelectRows(pair.PartialProduct(h, d), neighbor, graph.cuda)
                                   .view({anchors, k, pair.out_width()}) +
                               pair.PartialProduct(offsets, 2 * d);
  const torch::Tensor active = at::gelu(hidden);
  const torch::Tensor shares = at::matmul(active, score_.to(active.scalar_type())).softmax(1);
  const torch::Tensor mean = at::matmul(shares.unsqueeze(1), active).squeeze(1);
  const torch::Tensor gathered = message_->out().forward(mean).to(type);
  const torch::Tensor anchor_update = update_->forward(at::cat({anchor_h, gathered}, 1)).to(type);

  Dense& lead = follow_->in();
  const torch::Tensor way =
      SelectRows(anchor_x, g.closest, graph.cuda) - x.index_select(0, g.others);
  const torch::Tensor led = lead.PartialProduct(h.index_select(0, g.others), 0) +
                            SelectRows(lead.PartialProduct(anchor_h + anchor_update, d) + lead.bias,
                                       g.closest, graph.cuda) +
                            lead.PartialProduct(way, 2 * d);
  const torch::Tensor other_update = follow_->out().forward(at::gelu(led)).to(type);
  return at::zeros_like(h)
      .index_copy(0, g.anchors, anchor_update)
      .index_copy(0, g.others, other_update);
}

}  // namespace interlacer
