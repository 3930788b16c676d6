#include "model/attention/linear.h"

#include "model/cuda/device.h"
#include "model/kernels/linear_attention_cuda.h"
#include "model/kernels/wide_linear_cuda.h"

namespace interlacer {

LinearReluAttention::LinearReluAttention(const NetworkConfig& config, int head_count,
                                         Precision precision)
    : ProjectedAttention(config.width, config.width, precision),
      head_count_(head_count),
      epsilons_{config.feature_epsilon, config.normalizer_epsilon} {}

torch::Tensor LinearReluAttention::Mix(const torch::Tensor& q, const torch::Tensor& k,
                                       const torch::Tensor& v, const TokenGraph&) {
  const int head_width = static_cast<int>(v.size(1) / head_count_);
  const bool wide = head_width > kMaxLinearCudaWidth && OnDevice(v) &&
                    FitsWideLinear({v.size(0), head_count_, head_width});
  const auto full = [wide](const torch::Tensor& x) {
    return x.scalar_type() == at::kBFloat16 && !wide ? x.to(at::kFloat) : x;
  };
  return LinearAttention(full(q), full(k), full(v), head_count_, epsilons_);
}

bool LinearReluAttention::AddFused(torch::Tensor& h, const AttentionLayers& layers,
                                   const TokenGraph&, const RowRange& rows) {
  return AddLinearAttentionTo(h, layers, head_count_, epsilons_, rows);
}

bool LinearReluAttention::AddFusedOnDevice(torch::Tensor& h, const DeviceAttention& attention,
                                           const TokenGraph&, const RowRange& rows,
                                           const DeviceFeedForward& next) {
  return AddLinearAttentionOnDevice(h, attention, head_count_, epsilons_, rows, next);
}

}  // namespace interlacer
