#include "model/network/interlacer.h"

#include <ATen/core/grad_mode.h>

#include <string>
#include <utility>

#include "model/attention/registry.h"
#include "model/ops/recompute_op.h"

namespace interlacer {

InterlacerBlock::InterlacerBlock(const NetworkConfig& config, Precision precision) {
  const auto add = [&](const std::string& name, std::shared_ptr<AttentionMechanism> attention) {
    const auto norm = [&](const std::string& of) {
      return register_module(of, std::make_shared<LayerNorm>(config.width));
    };
    InterlacerLayer layer;
    layer.norm = norm(name + "_norm");
    layer.attention = register_module(name, std::move(attention));
    layer.feed_forward_norm = norm(name + "_ffn_norm");
    layer.feed_forward = register_module(
        name + "_ffn", std::make_shared<FeedForward>(config.width, config.ffn_factor * config.width,
                                                     config.width, precision));
    layers_.push_back(std::move(layer));
  };
  add("global", MakeGlobalMechanism(config, precision));
  if (auto local = MakeLocalMechanism(config, precision)) add("local", std::move(local));
}

torch::Tensor InterlacerBlock::forward(torch::Tensor h, const TokenGraph& graph,
                                       const RowRange& rows) {
  for (const InterlacerLayer& layer : layers_) {
    h = h + layer.attention->Forward(layer.norm->forward(h), graph);
    if (&layer == &layers_.back()) h = RowsOf(h, rows);
    h = h + layer.feed_forward->forward(layer.feed_forward_norm->forward(h));
  }
  return h;
}

Interlacer::Interlacer(const NetworkConfig& config, Precision precision, bool recompute)
    : recompute_(recompute) {
  for (int block = 0; block < config.block_count; ++block) {
    blocks_.push_back(register_module("block" + std::to_string(block),
                                      std::make_shared<InterlacerBlock>(config, precision)));
  }
  last_norm_ = register_module("last_norm", std::make_shared<LayerNorm>(config.width));
}

torch::Tensor Interlacer::forward(torch::Tensor h, const TokenGraph& graph, const RowRange& rows) {
  const bool recompute = recompute_ && at::GradMode::is_enabled();
  for (const auto& block : blocks_) {
    const RowRange wanted = block == blocks_.back() ? rows : RowRange{0, h.size(0)};
    if (!recompute) {
      h = block->forward(std::move(h), graph, wanted);
      continue;
    }
    h = Recompute(
        [block, graph, wanted](const std::vector<torch::Tensor>& inputs) {
          TokenGraph same = graph;
          same.positions_m = inputs[1];
          return block->forward(inputs[0], same, wanted);
        },
        {h, graph.positions_m});
  }
  return h;
}

}  // namespace interlacer
