#include "model/attention/projected.h"

#include <ATen/core/grad_mode.h>

#include <initializer_list>
#include <utility>
#include <vector>

#include "model/cuda/device.h"

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
  // Without gradients the device kernels read bfloat16 rows; with gradients, and on the host,
  // float32.
  const bool as_projected = OnDevice(h) && !at::GradMode::is_enabled();
  // All three layers have the same precision, so rows are rounded once.
  const torch::Tensor rows = as_projected ? query_->ToComputeType(h) : h;
  const auto project = [&](Dense& layer) {
    torch::Tensor x = layer.forward(rows);
    return as_projected ? x : x.to(h.scalar_type());
  };
  const torch::Tensor q = project(*query_), k = project(*key_), v = project(*value_);
  return out_->forward(Mix(q, k, v, graph));
}

torch::Tensor ProjectedAttention::AddTo(torch::Tensor h, LayerNorm& norm, const TokenGraph& graph,
                                        const RowRange& rows, const NormedFeedForward& next) {
  const AttentionLayers layers{norm, *query_, *key_, *value_, *out_};
  const std::initializer_list<const Dense*> dense{query_.get(), key_.get(), value_.get(),
                                                  out_.get()};
  if (CanFuseOnDevice(h, dense) && next.layers.CanFuseOnDevice(h) &&
      AddFusedOnDevice(h, {layers, packed_}, graph, rows, next.layers.OnDevice(next.norm))) {
    return rows.Of(h);
  }
  if (!CanFuse(h, dense)) {
    return AttentionMechanism::AddTo(std::move(h), norm, graph, rows, next);
  }
  AddOnHost(h, layers, graph, rows);
  return next.AddTo(rows.Of(h));
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
