#include "model/engine/host_layers.h"

#include <ATen/Functions.h>

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "common/thread_pool.h"
#include "model/attention/grf.h"
#include "model/attention/linear.h"
#include "model/kernels/fused_attention.h"

namespace interlacer {
namespace {

PackedDense Pack(const Dense& layer) {
  return PackDense(layer.weight.const_data_ptr<float>(), layer.bias.const_data_ptr<float>(),
                   layer.in_width(), layer.out_width());
}

/// Returns an empty string, or why the kernels do not compute these layers.
std::string WhyNotFused(std::initializer_list<const Dense*> layers) {
  for (const Dense* layer : layers) {
    if (std::string why_not = WhyNotPackable(*layer); !why_not.empty()) return why_not;
    if (!CanFuseDense(layer->in_width(), layer->out_width())) {
      return "no AVX-512 BF16, or a layer of " + std::to_string(layer->in_width()) + " to " +
             std::to_string(layer->out_width()) + " channels";
    }
  }
  return {};
}

FusedProjections PackProjections(const LayerNorm& norm, const ProjectedAttention& attention) {
  return {RowNormOf(norm),
          Pack(attention.query()),
          Pack(attention.key()),
          Pack(attention.value()),
          attention.out().weight.const_data_ptr<float>(),
          attention.out().bias.const_data_ptr<float>()};
}

LayerForm FusedLinear(const LinearReluAttention& attention, FusedProjections projections) {
  return
      [packed = std::move(projections), heads = attention.head_count(),
       epsilons = attention.epsilons()](torch::Tensor h, const TokenGraph&, const RowRange& rows) {
        AddLinearAttention(h.size(0), packed, heads, epsilons, rows, h.mutable_data_ptr<float>(),
                           &ParallelFor);
        return RowsOf(h, rows);
      };
}

LayerForm FusedGrf(std::shared_ptr<GrfMaskedAttention> attention, FusedProjections projections) {
  return [grf = std::move(attention), packed = std::move(projections)](
             torch::Tensor h, const TokenGraph& graph, const RowRange& rows) {
    const WalkMask& mask = *graph.mask;
    const torch::Tensor table = grf->PairWeights(mask).to(at::kFloat).contiguous();
    const torch::Tensor keys_values = at::empty(
        {h.size(0), packed.key.out_width + packed.value.out_width}, h.options().dtype(at::kShort));
    AddGrfAttention(h.size(0), packed,
                    {mask.offsets(), mask.entries(), table.const_data_ptr<float>()},
                    grf->epsilons(), rows,
                    reinterpret_cast<std::uint16_t*>(keys_values.mutable_data_ptr<std::int16_t>()),
                    h.mutable_data_ptr<float>(), &ParallelFor);
    return RowsOf(h, rows);
  };
}

/// Norm and projections are fused, and the output layer with its residual sum.
LayerForm FusedAroundMix(std::shared_ptr<ProjectedAttention> attention, const LayerNorm& norm) {
  std::vector<PackedDense> qkv;
  for (const Dense* layer : {&attention->query(), &attention->key(), &attention->value()}) {
    qkv.push_back(Pack(*layer));
  }
  return
      [attention, row_norm = RowNormOf(norm), qkv = std::move(qkv), out = Pack(attention->out())](
          torch::Tensor h, const TokenGraph& graph, const RowRange& rows) {
        std::vector<torch::Tensor> projected;
        std::vector<DenseOutput> outputs;
        for (const PackedDense& layer : qkv) {
          projected.push_back(at::empty({h.size(0), layer.out_width}, h.options()));
          outputs.push_back({&layer, projected.back().mutable_data_ptr<float>()});
        }
        NormDense(h.size(0), h.const_data_ptr<float>(), row_norm, outputs, &ParallelFor);
        torch::Tensor changed = RowsOf(h, rows);
        const torch::Tensor mixed =
            RowsOf(attention->Mix(projected[0], projected[1], projected[2], graph), rows)
                .to(at::kFloat)
                .contiguous();
        AddDense(changed.size(0), mixed.const_data_ptr<float>(), out,
                 changed.mutable_data_ptr<float>(), &ParallelFor);
        return changed;
      };
}

}  // namespace

BoundForm BindHostAttention(const InterlacerLayer& layer, bool packs_walks) {
  const auto attention = std::dynamic_pointer_cast<ProjectedAttention>(layer.attention);
  if (!attention) return {{}, "a mechanism that has no fused form"};
  const std::string why_not =
      WhyNotFused({&attention->query(), &attention->key(), &attention->value(), &attention->out()});
  if (!why_not.empty()) return {{}, why_not};
  // Where the mix has no fused form, what surrounds it has.
  std::string mix_is_not = "a mix that has no fused form";
  if (const auto linear = std::dynamic_pointer_cast<LinearReluAttention>(attention)) {
    if (linear->query().out_width() % (linear->head_count() * kFusedLanes) == 0) {
      return {FusedLinear(*linear, PackProjections(*layer.norm, *attention)), {}};
    }
    mix_is_not = std::to_string(linear->head_count()) + " heads of linear attention";
  }
  if (auto grf = std::dynamic_pointer_cast<GrfMaskedAttention>(attention)) {
    if (packs_walks && !grf->divides_by_walks()) {
      return {FusedGrf(std::move(grf), PackProjections(*layer.norm, *attention)), {}};
    }
    mix_is_not = packs_walks ? "graph attention that divides by the number of walks"
                             : "graph attention without packed walks";
  }
  return {FusedAroundMix(attention, *layer.norm), std::move(mix_is_not)};
}

BoundForm BindHostFeedForward(const InterlacerLayer& layer) {
  const Dense &in = layer.feed_forward->in(), &out = layer.feed_forward->out();
  const std::string why_not = WhyNotFused({&in, &out});
  if (!why_not.empty()) return {{}, why_not};
  return {[norm = RowNormOf(*layer.feed_forward_norm), first = Pack(in), second = Pack(out)](
              torch::Tensor h, const TokenGraph&, const RowRange&) {
            AddFeedForward(h.size(0), norm, first, second, h.mutable_data_ptr<float>(),
                           &ParallelFor);
            return h;
          },
          {}};
}

}  // namespace interlacer
