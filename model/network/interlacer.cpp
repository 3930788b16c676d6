#include "model/network/interlacer.h"

#include <ATen/core/grad_mode.h>

#include <string>
#include <utility>

#include "model/attention/registry.h"
#include "model/ops/recompute_op.h"

namespace interlacer {

InterlacerBlock::InterlacerBlock(const NetworkConfig& config, Precision precision) {
  const auto norm = [&](const char* name) {
    return register_module(name, std::make_shared<LayerNorm>(config.width));
  };
  const auto ffn = [&](const char* name) {
    return register_module(
        name, std::make_shared<FeedForward>(config.width, config.ffn_factor * config.width,
                                            config.width, precision));
  };
  global_norm_ = norm("global_norm");
  global_ = register_module("global", MakeGlobalMechanism(config, precision));
  global_ffn_norm_ = norm("global_ffn_norm");
  global_ffn_ = ffn("global_ffn");
  if (config.local.kind == LocalLayer::kNone) return;
  local_norm_ = norm("local_norm");
  local_ = register_module("local", MakeLocalMechanism(config, precision));
  local_ffn_norm_ = norm("local_ffn_norm");
  local_ffn_ = ffn("local_ffn");
}

torch::Tensor InterlacerBlock::forward(torch::Tensor h, const TokenGraph& graph,
                                       const RowRange& rows) {
  h = h + global_->Forward(global_norm_->forward(h), graph);
  if (!local_) h = rows.Of(h);
  h = h + global_ffn_->forward(global_ffn_norm_->forward(h));
  if (!local_) return h;
  h = rows.Of(h + local_->Forward(local_norm_->forward(h), graph));
  return h + local_ffn_->forward(local_ffn_norm_->forward(h));
}

torch::Tensor InterlacerBlock::Infer(torch::Tensor h, const TokenGraph& graph,
                                     const RowRange& rows) {
  const RowRange all{0, h.size(0)};
  h = global_->AddTo(std::move(h), *global_norm_, graph, local_ ? all : rows,
                     {*global_ffn_norm_, *global_ffn_});
  if (!local_) return h;
  return local_->AddTo(std::move(h), *local_norm_, graph, rows, {*local_ffn_norm_, *local_ffn_});
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
  const bool with_gradients = at::GradMode::is_enabled();
  for (const auto& block : blocks_) {
    const RowRange wanted = block == blocks_.back() ? rows : RowRange{0, h.size(0)};
    if (!with_gradients) {
      h = block->Infer(std::move(h), graph, wanted);
      continue;
    }
    if (!recompute_) {
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
