#include "model/attention/projected.h"

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

}  // namespace interlacer
