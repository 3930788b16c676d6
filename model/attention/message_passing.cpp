#include "model/attention/message_passing.h"

#include <ATen/Functions.h>

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
}

torch::Tensor MessagePassing::Forward(const torch::Tensor& h, const TokenGraph& graph) {
  const AnchorGraph& g = *graph.anchors;
  const at::ScalarType type = h.scalar_type();
  const torch::Tensor x = (graph.positions_m / offset_scale_m_).to(type);
  const std::int64_t anchors = g.neighbors.size(0), k = g.neighbors.size(1);

  const torch::Tensor root = g.anchors.unsqueeze(1).expand({anchors, k}).flatten();
  const torch::Tensor neighbor = g.neighbors.flatten();
  const torch::Tensor messages =
      message_->forward(at::cat({h.index_select(0, root), h.index_select(0, neighbor),
                                 x.index_select(0, neighbor) - x.index_select(0, root)},
                                1));
  const torch::Tensor gathered = messages.to(type).reshape({anchors, k, h.size(1)}).mean(1);

  const torch::Tensor anchor_h = h.index_select(0, g.anchors);
  const torch::Tensor anchor_update = update_->forward(at::cat({anchor_h, gathered}, 1)).to(type);

  const torch::Tensor leader_h = (anchor_h + anchor_update).index_select(0, g.closest);
  const torch::Tensor leader_x = x.index_select(0, g.anchors).index_select(0, g.closest);
  const torch::Tensor other_update =
      follow_
          ->forward(at::cat(
              {h.index_select(0, g.others), leader_h, leader_x - x.index_select(0, g.others)}, 1))
          .to(type);
  return at::zeros_like(h)
      .index_copy(0, g.anchors, anchor_update)
      .index_copy(0, g.others, other_update);
}

}  // namespace interlacer
