#include "model/layers/device_layers.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "model/cuda/backend.h"

namespace interlacer {
namespace {

int WidthOf(const torch::Tensor& h) { return static_cast<int>(h.size(1)); }
float* RowsOf(torch::Tensor& h) { return h.mutable_data_ptr<float>(); }

std::uint16_t* Bits(const torch::Tensor& shorts) {
  return reinterpret_cast<std::uint16_t*>(shorts.mutable_data_ptr<std::int16_t>());
}

DenseWeight WeightOf(const Dense& layer) {
  return {layer.weight.const_data_ptr<float>(), layer.in_width(), layer.out_width()};
}

const float* BiasOf(const Dense& layer) { return layer.bias.const_data_ptr<float>(); }

void CheckPacked(const CudaBackend& cuda, CudaError error) {
  cuda.Check(error, "packing of weights");
}

FeedForwardLayers Packed(const CudaBackend& cuda, const DeviceFeedForward& layers) {
  const std::int64_t count = 2 * layers.first.weight.numel();
  const auto pack = [&](std::uint16_t* packed, CudaStream stream) {
    CheckPacked(cuda,
                cuda.kernels.LaunchPackDensePair(WeightOf(layers.first), WeightOf(layers.second),
                                                 kDensePiece, packed, stream));
  };
  return {RowNormOf(layers.norm),
          layers.packed.Of(cuda, {layers.first.weight, layers.second.weight}, count, pack),
          BiasOf(layers.first), BiasOf(layers.second), layers.first.out_width()};
}

/// Packs query and output layer, keys and values: 2, 1 and 1 times width * width numbers.
LinearLayers PackedLinear(const CudaBackend& cuda, const DeviceAttention& attention) {
  const AttentionLayers& a = attention.layers;
  const std::int64_t square = a.query.weight.numel();
  const auto pack = [&](std::uint16_t* packed, CudaStream stream) {
    CheckPacked(cuda,
                cuda.kernels.LaunchPackDensePair(WeightOf(a.query), WeightOf(a.out),
                                                 LinearPiece(a.query.in_width()), packed, stream));
    CheckPacked(
        cuda, cuda.kernels.LaunchPackTransposedDense(WeightOf(a.key), packed + 2 * square, stream));
    CheckPacked(cuda, cuda.kernels.LaunchPackTransposedDense(WeightOf(a.value), packed + 3 * square,
                                                             stream));
  };
  const std::uint16_t* const packed = attention.packed.Of(
      cuda, {a.query.weight, a.key.weight, a.value.weight, a.out.weight}, 4 * square, pack);
  return {RowNormOf(a.norm), packed,        packed + 2 * square, packed + 3 * square,
          BiasOf(a.query),   BiasOf(a.key), BiasOf(a.value),     BiasOf(a.out)};
}

struct PackedGrfLayers {
  GrfProjections projections;
  OutputLayer out;
};

/// Packs projections and output layer: 3 and 1 times width * width numbers.
PackedGrfLayers PackedGrf(const CudaBackend& cuda, const DeviceAttention& attention) {
  const AttentionLayers& a = attention.layers;
  const std::int64_t square = a.query.weight.numel();
  const auto pack = [&](std::uint16_t* packed, CudaStream stream) {
    CheckPacked(cuda, cuda.kernels.LaunchPackProjections(WeightOf(a.query), WeightOf(a.key),
                                                         WeightOf(a.value), packed, stream));
    CheckPacked(cuda,
                cuda.kernels.LaunchPackDenseByInputs(WeightOf(a.out), packed + 3 * square, stream));
  };
  const std::uint16_t* const packed = attention.packed.Of(
      cuda, {a.query.weight, a.key.weight, a.value.weight, a.out.weight}, 4 * square, pack);
  return {{RowNormOf(a.norm), packed, BiasOf(a.query), BiasOf(a.key), BiasOf(a.value)},
          {packed + 3 * square, BiasOf(a.out)}};
}

}  // namespace

bool CanFuseOnDevice(const CudaBackend& cuda, const torch::Tensor& h,
                     std::initializer_list<const Dense*> layers) {
  if (at::GradMode::is_enabled() || h.scalar_type() != at::kFloat || h.dim() != 2 ||
      !h.is_contiguous() || !cuda.kernels.FitsFusedCuda(WidthOf(h))) {
    return false;
  }
  for (const Dense* layer : layers) {
    if (layer->precision() != Precision::kBfloat16 || layer->weight.scalar_type() != at::kFloat ||
        !layer->weight.is_contiguous() || layer->in_width() % kDensePiece != 0 ||
        layer->out_width() % kDensePiece != 0) {
      return false;
    }
  }
  return true;
}

void AddFeedForwardOnDevice(const CudaBackend& cuda, torch::Tensor& h,
                            const DeviceFeedForward& layers) {
  cuda.Check(cuda.kernels.LaunchAddFeedForward({0, h.size(0)}, WidthOf(h), Packed(cuda, layers),
                                               RowsOf(h), cuda.stream_of(h)),
             "feed-forward layers");
}

bool AddLinearAttentionOnDevice(const CudaBackend& cuda, torch::Tensor& h,
                                const DeviceAttention& attention, int head_count,
                                const LinearAttentionEpsilons& epsilons, const RowRange& rows,
                                const DeviceFeedForward& next) {
  const std::int64_t n = h.size(0);
  const int width = WidthOf(h);
  if (!cuda.kernels.FitsFusedLinear(width, head_count)) return false;
  const torch::Tensor scratch =
      at::empty({cuda.kernels.FusedLinearScratchCount(n, width)}, h.options());
  cuda.Check(
      cuda.kernels.LaunchAddLinearAttention(
          n, width, {rows.begin, rows.end}, PackedLinear(cuda, attention), epsilons,
          Packed(cuda, next), scratch.mutable_data_ptr<float>(), RowsOf(h), cuda.stream_of(h)),
      "fused linear attention");
  return true;
}

bool AddGrfAttentionOnDevice(const CudaBackend& cuda, torch::Tensor& h,
                             const DeviceAttention& attention, const WalkMask& mask,
                             const torch::Tensor& pair_weights, const GrfEpsilons& epsilons,
                             const RowRange& rows, const DeviceFeedForward& next) {
  const std::int64_t n = h.size(0);
  const int width = WidthOf(h);
  if (!mask.packed() || attention.layers.key.out_width() != width ||
      !cuda.kernels.FitsPackedGrf(width)) {
    return false;
  }
  CudaStream const stream = cuda.stream_of(h);
  const torch::Tensor table = pair_weights.to(at::kFloat).contiguous();
  const PackedGrfLayers layers = PackedGrf(cuda, attention);
  const auto shorts = h.options().dtype(at::kShort);
  const torch::Tensor q = at::empty({n, width}, shorts);
  const torch::Tensor keys_values = at::empty({n, 2 * width}, shorts);
  cuda.Check(
      cuda.kernels.LaunchGrfProjections(n, width, {rows.begin, rows.end}, layers.projections,
                                        epsilons, RowsOf(h), Bits(q), Bits(keys_values), stream),
      "GRF projections");
  const torch::Tensor mixed = at::empty({n, width}, shorts);
  cuda.Check(cuda.kernels.LaunchPackedGrf(
                 {n, width, rows.begin, rows.end},
                 {mask.offsets(), mask.entries(), table.const_data_ptr<float>()},
                 {Bits(q), Bits(keys_values)}, epsilons, {Bits(mixed), nullptr}, stream),
             "GRF attention");
  cuda.Check(cuda.kernels.LaunchAddMixed({rows.begin, rows.end}, width, layers.out, Bits(mixed),
                                         Packed(cuda, next), RowsOf(h), stream),
             "output layer of GRF attention");
  return true;
}

}  // namespace interlacer
