#include "model/engine/cuda_layers.h"

#include <ATen/Functions.h>

#include <initializer_list>
#include <memory>
#include <utility>

#include "model/attention/grf.h"
#include "model/attention/linear.h"
#include "model/cuda/backend.h"
#include "model/graph/device_walks.h"

namespace interlacer {
namespace {

int WidthOf(const torch::Tensor& h) { return static_cast<int>(h.size(1)); }
float* FloatsIn(const torch::Tensor& h) { return h.mutable_data_ptr<float>(); }

std::uint16_t* Bits(const torch::Tensor& shorts) {
  return reinterpret_cast<std::uint16_t*>(shorts.mutable_data_ptr<std::int16_t>());
}

DenseWeight WeightOf(const Dense& layer) {
  return {layer.weight.const_data_ptr<float>(), layer.in_width(), layer.out_width()};
}

const float* BiasOf(const Dense& layer) { return layer.bias.const_data_ptr<float>(); }

torch::Tensor PackedNumbers(std::int64_t count, const Dense& like) {
  return at::empty({count}, like.weight.options().dtype(at::kShort).requires_grad(false));
}

std::string WhyNotFused(const CudaBackend& cuda, int width,
                        std::initializer_list<const Dense*> layers) {
  if (!cuda.kernels.FitsFusedCuda(width)) {
    return "this device has no kernels of width " + std::to_string(width);
  }
  for (const Dense* layer : layers) {
    if (std::string why_not = WhyNotPackable(*layer); !why_not.empty()) return why_not;
    if (layer->in_width() % kDensePiece != 0 || layer->out_width() % kDensePiece != 0) {
      return "a width is not a multiple of " + std::to_string(kDensePiece);
    }
  }
  return {};
}

std::string WhyNotPackedGrf(const CudaBackend& cuda, const GrfMaskedAttention& grf, int width,
                            int packed_walks_degree) {
  if (packed_walks_degree == 0) return "graph attention without packed walks";
  if (grf.divides_by_walks()) return "graph attention that divides by the number of walks";
  if (grf.key().out_width() != width) return "graph attention with keys of another width";
  if (cuda.kernels.FitsPackedGrf(width)) return {};
  return "no kernels of graph attention of width " + std::to_string(width);
}

/// Feed-forward layers with the memory of their packed weights.
struct PackedFeedForward {
  torch::Tensor memory;
  FeedForwardLayers layers;
};

PackedFeedForward Pack(const CudaBackend& cuda, const InterlacerLayer& layer) {
  const Dense &in = layer.feed_forward->in(), &out = layer.feed_forward->out();
  const torch::Tensor memory = PackedNumbers(2 * in.weight.numel(), in);
  cuda.Check(cuda.kernels.LaunchPackDensePair(WeightOf(in), WeightOf(out), kDensePiece,
                                              Bits(memory), cuda.stream_of(memory)),
             "packing of weights");
  return {
      memory,
      {RowNormOf(*layer.feed_forward_norm), Bits(memory), BiasOf(in), BiasOf(out), in.out_width()}};
}

/// Query and output layer, keys and values: 2, 1 and 1 times width * width numbers.
LayerForm FusedLinear(const CudaBackend& cuda, const LinearReluAttention& a,
                      const InterlacerLayer& layer) {
  const std::int64_t square = a.query().weight.numel();
  const torch::Tensor memory = PackedNumbers(4 * square, a.query());
  std::uint16_t* const packed = Bits(memory);
  const CudaStream stream = cuda.stream_of(memory);
  const auto check = [&](CudaError error) { cuda.Check(error, "packing of weights"); };
  check(cuda.kernels.LaunchPackDensePair(WeightOf(a.query()), WeightOf(a.out()),
                                         LinearPiece(a.query().in_width()), packed, stream));
  check(cuda.kernels.LaunchPackTransposedDense(WeightOf(a.key()), packed + 2 * square, stream));
  check(cuda.kernels.LaunchPackTransposedDense(WeightOf(a.value()), packed + 3 * square, stream));
  const LinearLayers layers{
      RowNormOf(*layer.norm), packed,          packed + 2 * square, packed + 3 * square,
      BiasOf(a.query()),      BiasOf(a.key()), BiasOf(a.value()),   BiasOf(a.out())};
  return [&cuda, memory, layers, next = Pack(cuda, layer), epsilons = a.epsilons()](
             torch::Tensor h, const TokenGraph&, const RowRange& rows) {
    const std::int64_t n = h.size(0);
    const int width = WidthOf(h);
    const torch::Tensor scratch =
        at::empty({cuda.kernels.FusedLinearScratchCount(n, width)}, h.options());
    cuda.Check(
        cuda.kernels.LaunchAddLinearAttention(n, width, rows, layers, epsilons, next.layers,
                                              FloatsIn(scratch), FloatsIn(h), cuda.stream_of(h)),
        "fused linear attention");
    return RowsOf(h, rows);
  };
}

/// Projections and output layer: 3 and 1 times width * width numbers. The loads of packed masks are
/// the same tensor in every step but for graphs of few tokens, so their pair weights are kept.
LayerForm FusedGrf(const CudaBackend& cuda, std::shared_ptr<GrfMaskedAttention> a,
                   const InterlacerLayer& layer, int degree) {
  const std::int64_t square = a->query().weight.numel();
  const torch::Tensor memory = PackedNumbers(4 * square, a->query());
  std::uint16_t* const packed = Bits(memory);
  const auto check = [&](CudaError error) { cuda.Check(error, "packing of weights"); };
  check(cuda.kernels.LaunchPackProjections(WeightOf(a->query()), WeightOf(a->key()),
                                           WeightOf(a->value()), packed, cuda.stream_of(memory)));
  check(cuda.kernels.LaunchPackDenseByInputs(WeightOf(a->out()), packed + 3 * square,
                                             cuda.stream_of(memory)));
  const GrfProjections projections{RowNormOf(*layer.norm), packed, BiasOf(a->query()),
                                   BiasOf(a->key()), BiasOf(a->value())};
  const OutputLayer out{packed + 3 * square, BiasOf(a->out())};
  const torch::Tensor loads = CodeLoads(degree, a->query().weight);
  const auto table_of = [a](const torch::Tensor& of) {
    return a->WeightsOf(of).to(at::kFloat).contiguous();
  };
  return [&cuda, a, memory, projections, out, next = Pack(cuda, layer), loads,
          table = table_of(loads),
          table_of](torch::Tensor h, const TokenGraph& graph, const RowRange& rows) {
    const WalkMask& mask = *graph.mask;
    const std::int64_t n = h.size(0);
    const int width = WidthOf(h);
    const CudaStream stream = cuda.stream_of(h);
    const torch::Tensor weights = mask.loads().is_same(loads) ? table : table_of(mask.loads());
    const auto shorts = h.options().dtype(at::kShort);
    const torch::Tensor q = at::empty({n, width}, shorts);
    const torch::Tensor keys_values = at::empty({n, 2 * width}, shorts);
    cuda.Check(cuda.kernels.LaunchGrfProjections(n, width, rows, projections, a->epsilons(),
                                                 FloatsIn(h), Bits(q), Bits(keys_values), stream),
               "GRF projections");
    const torch::Tensor mixed = at::empty({n, width}, shorts);
    cuda.Check(
        cuda.kernels.LaunchPackedGrf(
            {n, width, rows}, {mask.offsets(), mask.entries(), weights.const_data_ptr<float>()},
            {Bits(q), Bits(keys_values)}, a->epsilons(), {Bits(mixed), nullptr}, stream),
        "GRF attention");
    cuda.Check(cuda.kernels.LaunchAddMixed(rows, width, out, Bits(mixed), next.layers, FloatsIn(h),
                                           stream),
               "output layer of GRF attention");
    return RowsOf(h, rows);
  };
}

}  // namespace

BoundForm BindCudaAttention(const CudaBackend& cuda, const InterlacerLayer& layer,
                            int packed_walks_degree) {
  const auto attention = std::dynamic_pointer_cast<ProjectedAttention>(layer.attention);
  if (!attention) return {{}, "a mechanism that has no fused form"};
  const int width = attention->query().in_width();
  std::string why_not =
      WhyNotFused(cuda, width,
                  {&attention->query(), &attention->key(), &attention->value(), &attention->out(),
                   &layer.feed_forward->in(), &layer.feed_forward->out()});
  if (!why_not.empty()) return {{}, std::move(why_not)};
  if (const auto linear = std::dynamic_pointer_cast<LinearReluAttention>(attention)) {
    if (cuda.kernels.FitsFusedLinear(width, linear->head_count())) {
      return {FusedLinear(cuda, *linear, layer), {}, /*with_feed_forward=*/true};
    }
    return {{}, std::to_string(linear->head_count()) + " heads of linear attention"};
  }
  auto grf = std::dynamic_pointer_cast<GrfMaskedAttention>(attention);
  if (!grf) return {{}, "a mechanism that has no fused form"};
  why_not = WhyNotPackedGrf(cuda, *grf, width, packed_walks_degree);
  if (!why_not.empty()) return {{}, std::move(why_not)};
  return {
      FusedGrf(cuda, std::move(grf), layer, packed_walks_degree), {}, /*with_feed_forward=*/true};
}

BoundForm BindCudaFeedForward(const CudaBackend& cuda, const InterlacerLayer& layer) {
  const Dense &in = layer.feed_forward->in(), &out = layer.feed_forward->out();
  std::string why_not = WhyNotFused(cuda, in.in_width(), {&in, &out});
  if (!why_not.empty()) return {{}, std::move(why_not)};
  return {[&cuda, packed = Pack(cuda, layer)](torch::Tensor h, const TokenGraph&, const RowRange&) {
            cuda.Check(cuda.kernels.LaunchAddFeedForward({0, h.size(0)}, WidthOf(h), packed.layers,
                                                         FloatsIn(h), cuda.stream_of(h)),
                       "feed-forward layers");
            return h;
          },
          {}};
}

BoundHead BindCudaHead(const CudaBackend& cuda, const DynamicsHead& head,
                       const LayerNorm& last_norm) {
  const DynamicsHead::Layers& l = head.layers();
  const int width = l.position->in_width();
  if (!cuda.kernels.FitsDynamicsHead(width)) {
    return {{}, "no kernel of width " + std::to_string(width)};
  }
  if (l.position->weight.scalar_type() != at::kFloat) return {{}, "weights are not float32"};
  if (l.trust) return {{}, "the kernel takes no guess"};
  const DynamicsHeadLayers layers{RowNormOf(last_norm),
                                  RowNormOf(*l.position_norm),
                                  l.position->weight.const_data_ptr<float>(),
                                  BiasOf(*l.position),
                                  RowNormOf(*l.feature_norm),
                                  l.feature->weight.const_data_ptr<float>(),
                                  BiasOf(*l.feature),
                                  l.feature->out_width(),
                                  static_cast<float>(head.max_displacement_m()),
                                  static_cast<float>(head.min_displacement_m()),
                                  l.gate ? l.gate->weight.const_data_ptr<float>() : nullptr,
                                  l.gate ? BiasOf(*l.gate) : nullptr};
  HeadForm form = [&cuda, layers, width](const torch::Tensor& h, const StepInput& input,
                                         const CloudOrder& order) {
    const CloudTensors cloud{input.newer.positions_m.contiguous(),
                             input.newer.features.contiguous()};
    const CloudTensors next{at::empty_like(cloud.positions_m), at::empty_like(cloud.features)};
    cuda.Check(
        cuda.kernels.LaunchDynamicsHead(
            h.size(0), width, layers, h.const_data_ptr<float>(),
            {order.particle_at.const_data_ptr<std::int64_t>(),
             cloud.positions_m.const_data_ptr<float>(), cloud.features.const_data_ptr<float>(),
             FloatsIn(next.positions_m), FloatsIn(next.features)},
            cuda.stream_of(h)),
        "dynamics head");
    return next;
  };
  return {std::move(form), {}};
}

}  // namespace interlacer
