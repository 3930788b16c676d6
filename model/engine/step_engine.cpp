#include "model/engine/step_engine.h"

#include <ATen/core/grad_mode.h>

#include <string>
#include <utility>

#include "common/log.h"
#include "model/engine/host_layers.h"
#include "model/engine/token_rows.h"
#include "model/kernels/fused_dense.h"
#include "model/network/tokens.h"

namespace interlacer {
namespace {

LayerForm TorchAttention(const InterlacerLayer& layer) {
  return [layer](torch::Tensor h, const TokenGraph& graph, const RowRange& rows) {
    return RowsOf(h, rows) + RowsOf(layer.attention->Forward(layer.norm->forward(h), graph), rows);
  };
}

LayerForm TorchFeedForward(const InterlacerLayer& layer) {
  return [layer](torch::Tensor h, const TokenGraph&, const RowRange&) {
    return h + layer.feed_forward->forward(layer.feed_forward_norm->forward(h));
  };
}

/// What multiplies in the fused layers.
std::string Products(const WorldModel& model, int fused_count) {
  if (fused_count == 0) return "torch";
  if (model.cuda() != nullptr) return "CUDA";
  return DenseFormsOfHost(model.config().network.width).front()->name;
}

}  // namespace

StepEngine::StepEngine(WorldModel* model) : model_(model) {
  const at::NoGradGuard no_grad;
  BindTokens();
  BindLayers();
  const std::string unfused_head = BindHead();
  Log(LogLevel::kInfo, "the layers of a step are bound",
      {{"device", model_->cuda() != nullptr ? "cuda" : "cpu"},
       {"fused", std::to_string(fused_count_) + " of " + std::to_string(layers_.size())},
       {"products", Products(*model_, fused_count_)},
       {"unfused", why_not_.empty() ? "none" : why_not_},
       {"head", unfused_head.empty() ? "fused" : "torch: " + unfused_head}});
}

void StepEngine::BindTokens() {
  if (model_->tokens().layers().visual->weight.scalar_type() != at::kFloat) {
    tokens_ = [model = model_](const StepInput& input) { return model->tokens().forward(input); };
    return;
  }
  tokens_ = [model = model_](const StepInput& input) {
    return EncodeTokens(model->tokens(), input, model->cuda());
  };
}

void StepEngine::Bind(BoundForm bound, LayerForm torch_form, bool selects_newer) {
  if (bound.form) ++fused_count_;
  if (why_not_.empty()) why_not_ = std::move(bound.why_not);
  layers_.push_back({bound.form ? std::move(bound.form) : std::move(torch_form), selects_newer});
}

void StepEngine::BindLayers() {
  const CudaBackend* const cuda = model_->cuda();
  const InterlacerConfig& config = model_->config();
  const bool packs = PacksWalks(config);
  const auto& blocks = model_->interlacer().blocks();
  for (const auto& block : blocks) {
    for (const InterlacerLayer& layer : block->layers()) {
      const bool is_last = block == blocks.back() && &layer == &block->layers().back();
      BoundForm attention =
          cuda == nullptr
              ? BindHostAttention(layer, packs)
              : BindCudaAttention(*cuda, layer, packs ? config.graph.neighbor_count : 0);
      const bool has_feed_forward = attention.with_feed_forward;
      Bind(std::move(attention), TorchAttention(layer), is_last);
      if (has_feed_forward) continue;
      Bind(cuda == nullptr ? BindHostFeedForward(layer) : BindCudaFeedForward(*cuda, layer),
           TorchFeedForward(layer), false);
    }
  }
}

std::string StepEngine::BindHead() {
  BoundHead bound{{}, "the host has no fused form"};
  if (model_->cuda() != nullptr) {
    bound = BindCudaHead(*model_->cuda(), model_->head(), model_->interlacer().last_norm());
  }
  head_ = std::move(bound.form);
  if (head_) return {};
  head_ = [model = model_](const torch::Tensor& h, const StepInput& input,
                           const CloudOrder& order) {
    return model->head().forward(h, model->interlacer().last_norm(), input.newer, order,
                                 ContactGuessOf(input.surface));
  };
  return std::move(bound.why_not);
}

CloudTensors StepEngine::Step(const StepInput& input) const {
  const at::NoGradGuard no_grad;
  const WorldModel::OrderedStep step = model_->Order(input);
  TokenSet tokens = tokens_(step.input);
  const TokenGraph graph = model_->graph()(tokens, input.graph_seed);
  const RowRange all{0, tokens.h.size(0)};
  const RowRange newer{tokens.older_count, tokens.older_count + tokens.newer_count};
  torch::Tensor h = std::move(tokens.h);
  for (const Layer& layer : layers_) {
    h = layer.form(std::move(h), graph, layer.selects_newer ? newer : all);
  }
  return head_(h, input, step.newer_order);
}

}  // namespace interlacer
