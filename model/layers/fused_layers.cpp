#include "model/layers/fused_layers.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "common/thread_pool.h"
#include "model/kernels/fused_attention.h"

namespace interlacer {
namespace {

PackedDense Pack(const Dense& layer) {
  return PackDense(layer.weight.const_data_ptr<float>(), layer.bias.const_data_ptr<float>(),
                   layer.in_width(), layer.out_width());
}

}  // namespace

RowNorm RowNormOf(const LayerNorm& norm) {
  return {norm.scale.const_data_ptr<float>(), norm.bias.const_data_ptr<float>(),
          static_cast<float>(LayerNorm::kEpsilon)};
}

bool CanFuse(const torch::Tensor& h, std::initializer_list<const Dense*> layers) {
  if (at::GradMode::is_enabled() || h.scalar_type() != at::kFloat || !h.is_contiguous()) {
    return false;
  }
  for (const Dense* layer : layers) {
    if (layer->precision() != Precision::kBfloat16 || layer->weight.scalar_type() != at::kFloat ||
        !layer->weight.is_contiguous() || !CanFuseDense(layer->in_width(), layer->out_width())) {
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
    results.push_back(at::empty({h.size(0), layer->out_width()}, h.options()));
  }
  std::vector<DenseOutput> outputs;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    outputs.push_back({&packed[i], results[i].mutable_data_ptr<float>()});
  }
  NormDense(h.size(0), h.const_data_ptr<float>(), RowNormOf(norm), outputs, &ParallelFor);
  return results;
}

namespace {

FusedProjections PackProjections(const AttentionLayers& layers) {
  return {RowNormOf(layers.norm),
          Pack(layers.query),
          Pack(layers.key),
          Pack(layers.value),
          layers.out.weight.const_data_ptr<float>(),
          layers.out.bias.const_data_ptr<float>()};
}

}  // namespace

bool AddLinearAttentionTo(torch::Tensor& h, const AttentionLayers& layers, int head_count,
                          const LinearAttentionEpsilons& epsilons, const RowRange& rows) {
  if (layers.query.out_width() % (head_count * kFusedLanes) != 0) return false;
  AddLinearAttention(h.size(0), PackProjections(layers), head_count, epsilons,
                     {rows.begin, rows.end}, h.mutable_data_ptr<float>(), &ParallelFor);
  return true;
}

bool AddGrfAttentionTo(torch::Tensor& h, const AttentionLayers& layers, const WalkMask& mask,
                       const torch::Tensor& pair_weights, const GrfEpsilons& epsilons,
                       const RowRange& rows) {
  if (!mask.packed()) return false;
  const torch::Tensor table = pair_weights.to(at::kFloat).contiguous();
  const torch::Tensor keys_values =
      at::empty({h.size(0), layers.key.out_width() + layers.value.out_width()},
                h.options().dtype(at::kShort));
  AddGrfAttention(h.size(0), PackProjections(layers),
                  {mask.offsets(), mask.entries(), table.const_data_ptr<float>()}, epsilons,
                  {rows.begin, rows.end},
                  reinterpret_cast<std::uint16_t*>(keys_values.mutable_data_ptr<std::int16_t>()),
                  h.mutable_data_ptr<float>(), &ParallelFor);
  return true;
}

void AddDenseTo(torch::Tensor& h, const torch::Tensor& x, const Dense& layer) {
  const torch::Tensor rows = x.to(at::kFloat).contiguous();
  AddDense(h.size(0), rows.const_data_ptr<float>(), Pack(layer), h.mutable_data_ptr<float>(),
           &ParallelFor);
}

void AddFeedForwardTo(torch::Tensor& h, const LayerNorm& norm, const Dense& first,
                      const Dense& second) {
  AddFeedForward(h.size(0), RowNormOf(norm), Pack(first), Pack(second), h.mutable_data_ptr<float>(),
                 &ParallelFor);
}

}  // namespace interlacer
