#include "model/fused_layers.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "common/thread_pool.h"
#include "model/kernels/fused_dense.h"

namespace interlacer {
namespace {

int InWidth(const Dense& layer) { return static_cast<int>(layer.weight.size(1)); }
int OutWidth(const Dense& layer) { return static_cast<int>(layer.weight.size(0)); }

PackedDense Pack(const Dense& layer) {
  return PackDense(layer.weight.const_data_ptr<float>(), layer.bias.const_data_ptr<float>(),
                   InWidth(layer), OutWidth(layer));
}

RowNorm NormOf(const LayerNorm& norm) {
  return {norm.scale.const_data_ptr<float>(), norm.bias.const_data_ptr<float>(),
          static_cast<float>(LayerNorm::kEpsilon)};
}

}  // namespace

bool CanFuse(const torch::Tensor& h, std::initializer_list<const Dense*> layers) {
  if (at::GradMode::is_enabled() || h.scalar_type() != at::kFloat || !h.is_contiguous()) {
    return false;
  }
  for (const Dense* layer : layers) {
    if (layer->precision() != Precision::kBfloat16 || layer->weight.scalar_type() != at::kFloat ||
        !layer->weight.is_contiguous() || !CanFuseDense(InWidth(*layer), OutWidth(*layer))) {
      return false;
    }
  }
  return true;
}

std::vector<torch::Tensor> NormThenDense(const torch::Tensor& h, const LayerNorm& norm,
                                         std::initializer_list<const Dense*> layers) {
  std::vector<PackedDense> packed;
  std::vector<torch::Tensor> results;
  for (const Dense* layer : layers) {
    packed.push_back(Pack(*layer));
    results.push_back(at::empty({h.size(0), OutWidth(*layer)}, h.options()));
  }
  std::vector<DenseOutput> outputs;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    outputs.push_back({&packed[i], results[i].mutable_data_ptr<float>()});
  }
  NormDense(h.size(0), h.const_data_ptr<float>(), NormOf(norm), outputs, &ParallelFor);
  return results;
}

void AddDenseTo(torch::Tensor& h, const torch::Tensor& x, const Dense& layer) {
  const torch::Tensor rows = x.to(at::kFloat).contiguous();
  AddDense(h.size(0), rows.const_data_ptr<float>(), Pack(layer), h.mutable_data_ptr<float>(),
           &ParallelFor);
}

void AddFeedForwardTo(torch::Tensor& h, const LayerNorm& norm, const Dense& first,
                      const Dense& second) {
  AddFeedForward(h.size(0), NormOf(norm), Pack(first), Pack(second), h.mutable_data_ptr<float>(),
                 &ParallelFor);
}

}  // namespace interlacer
