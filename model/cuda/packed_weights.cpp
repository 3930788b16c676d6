#include "model/cuda/packed_weights.h"

#include <ATen/Functions.h>

#include "model/cuda/backend.h"

namespace interlacer {

bool CachedTensor::IsOf(const std::vector<torch::Tensor>& weights) const {
  if (weights.size() != weights_.size()) return false;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].const_data_ptr() != weights_[i].const_data_ptr() ||
        weights[i]._version() != versions_[i]) {
      return false;
    }
  }
  return true;
}

const torch::Tensor& CachedTensor::Of(const std::vector<torch::Tensor>& weights,
                                      const std::function<torch::Tensor()>& make) {
  if (IsOf(weights)) return kept_;
  kept_ = make();
  weights_.clear();
  versions_.clear();
  for (const torch::Tensor& weight : weights) {
    weights_.push_back(weight.detach());
    versions_.push_back(weight._version());
  }
  return kept_;
}

const std::uint16_t* PackedWeights::Of(const CudaBackend& cuda,
                                       const std::vector<torch::Tensor>& weights,
                                       std::int64_t count, const Pack& pack) {
  const torch::Tensor& packed = packed_.Of(weights, [&] {
    const torch::Tensor shorts =
        at::empty({count}, weights.front().options().dtype(at::kShort).requires_grad(false));
    pack(reinterpret_cast<std::uint16_t*>(shorts.mutable_data_ptr<std::int16_t>()),
         cuda.stream_of(shorts));
    return shorts;
  });
  return reinterpret_cast<const std::uint16_t*>(packed.const_data_ptr<std::int16_t>());
}

}  // namespace interlacer
