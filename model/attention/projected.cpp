#include "model/attention/projected.h"

#include <initializer_list>
#include <utility>
#include <vector>

namespace interlacer {

ProjectedAttention::ProjectedAttention(std::int64_t width, std::int64_t key_width,
                                       Precision precision) {
  const auto dense = [&](const char* name, std::int64_t out) {
    return register_module(name, std::make_shared<Dense>(width, out, precision));
  };
  query_ = dense("query", key_width);
  key_ = dense("key", key_width);
  value_ = dense("value", width);
  out_ = dense("out", width);
}

torch::Tensor ProjectedAttention::Forward(const torch::Tensor& h, const TokenGraph& graph) {
  const auto project = [&](Dense& layer) { return layer.forward(h).to(h.scalar_type()); };
  const torch::Tensor q = project(*query_), k = project(*key_), v = project(*value_);
  return out_->forward(Mix(q, k, v, graph));
}

torch::Tensor ProjectedAttention::AddTo(torch::Tensor h, LayerNorm& norm, const TokenGraph& graph,
                                        const RowRange& rows, const NormedFeedForward& next) {
  const AttentionLayers layers{norm, *query_, *key_, *value_, *out_};
  const std::initializer_list<const Dense*> dense{query_.get(), key_.get(), value_.get(),
                                                  out_.get()};
  if (graph.cuda != nullptr && CanFuseOnDevice(*graph.cuda, h, dense) &&
      next.layers.CanFuseOnDevice(h, *graph.cuda) &&
      AddFusedOnDevice(h, {layers, packed_}, graph, rows, next.layers.OnDevice(next.norm))) {
    return rows.Of(h);
  }
  if (graph.cuda != nullptr || !CanFuse(h, dense)) {
    return AttentionMechanism::AddTo(std::move(h), norm, graph, rows, next);
  }
  AddOnHost(h, layers, graph, rows);
  return next.AddTo(rows.Of(h), graph.cuda);
}

void ProjectedAttention::AddOnHost(torch::Tensor& h, const AttentionLayers& layers,
                                   const TokenGraph& graph, const RowRange& rows) {
  if (AddFused(h, layers, graph, rows)) return;
  const std::vector<torch::Tensor> qkv =
      NormThenDense(h, layers.norm, {&layers.query, &layers.key, &layers.value});
  torch::Tensor changed = rows.Of(h);
  AddDenseTo(changed, rows.Of(Mix(qkv[0], qkv[1], qkv[2], graph)), layers.out);
}

bool ProjectedAttention::AddFused(torch::Tensor&, const AttentionLayers&, const TokenGraph&,
                                  const RowRange&) {
  return false;
}

bool ProjectedAttention::AddFusedOnDevice(torch::Tensor&, const DeviceAttention&, const TokenGraph&,
                                          const RowRange&, const DeviceFeedForward&) {
  return false;
}

}  // namespace interlacer
