#include "model/attention/projected.h"

#include <ATen/core/grad_mode.h>

#include <utility>
#include <vector>

#include "model/ops/device.h"

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
  // The device kernels read rows of bfloat16; their gradients, and the host's, are of float32.
  const bool as_projected = OnDevice(h) && !at::GradMode::is_enabled();
  const auto project = [&](Dense& layer) {
    torch::Tensor x = layer.forward(h);
    return as_projected ? x : x.to(h.scalar_type());
  };
  const torch::Tensor q = project(*query_), k = project(*key_), v = project(*value_);
  return out_->forward(Mix(q, k, v, graph));
}

torch::Tensor ProjectedAttention::AddTo(torch::Tensor h, LayerNorm& norm, const TokenGraph& graph,
                                        const RowRange& rows) {
  if (!CanFuse(h, {query_.get(), key_.get(), value_.get(), out_.get()})) {
    return AttentionMechanism::AddTo(std::move(h), norm, graph, rows);
  }
  if (!AddFused(h, {norm, *query_, *key_, *value_, *out_}, graph, rows)) {
    const std::vector<torch::Tensor> qkv =
        NormThenDense(h, norm, {query_.get(), key_.get(), value_.get()});
    torch::Tensor changed = rows.Of(h);
    AddDenseTo(changed, rows.Of(Mix(qkv[0], qkv[1], qkv[2], graph)), *out_);
  }
  return rows.Of(h);
}

bool ProjectedAttention::AddFused(torch::Tensor&, const AttentionLayers&, const TokenGraph&,
                                  const RowRange&) {
  return false;
}

}  // namespace interlacer
