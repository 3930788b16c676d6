#include "common/kernels/launch.h"
#include "model/kernels/grf_attention_cuda.h"
#include "model/kernels/grf_code_sums_cuda.h"
#include "model/kernels/warp_rows.h"

namespace interlacer {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;
/// Rows or columns of a block, so that neighbours in space share a cache.
constexpr std::int64_t kBlockRows = 4 * kWarps;

__device__ std::int64_t Node(const GrfPackedPairs<float>& pairs, std::int64_t e) {
  return pairs.entries[e] & kWalkNodeMask;
}
__device__ float Weight(const GrfPackedPairs<float>& pairs, std::int64_t e) {
  return pairs.table[pairs.entries[e] >> kWalkCodeShift];
}
__device__ std::int64_t Node(const GrfWeightedPairs<float>& pairs, std::int64_t e) {
  return pairs.nodes[e];
}
__device__ float Weight(const GrfWeightedPairs<float>& pairs, std::int64_t e) {
  return pairs.weights[e];
}

/// Iterates over the rows or columns of this warp: call row() while Next() returns true.
class RowsOfWarp {
 public:
  __device__ explicit RowsOfWarp(const GrfShape& shape)
      : n_(shape.n),
        row_(blockIdx.x * kBlockRows + threadIdx.x / kWarpLanes - kWarps),
        end_((blockIdx.x + std::int64_t{1}) * kBlockRows) {}

  __device__ bool Next() {
    row_ += kWarps;
    return row_ < end_ && row_ < n_;
  }
  __device__ std::int64_t row() const { return row_; }

 private:
  std::int64_t n_;
  std::int64_t row_;
  std::int64_t end_;
};

template <int kItems>
__device__ RowPart<kItems> PhiRow(RowPart<kItems> x, float epsilon) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
#pragma unroll
    for (int c = 0; c < kChannelsOfALane; ++c) {
      x.value[item][c] = (x.value[item][c] > 0 ? x.value[item][c] : 0) + epsilon;
    }
  }
  return x;
}

/// Sets channels beyond the row's width to 0, so that they do not contribute to dot products.
template <int kItems>
__device__ RowPart<kItems> CutAt(int width, const GroupLane& lane, RowPart<kItems> part) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
#pragma unroll
    for (int c = 0; c < kChannelsOfALane; ++c) {
      if (FirstChannel(lane, item) + c >= width) part.value[item][c] = 0;
    }
  }
  return part;
}

/// Maps the gradient of phi(x) to that of x.
template <int kItems>
__device__ void MaskByRelu(const RowPart<kItems>& x, RowPart<kItems>& grad) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
#pragma unroll
    for (int c = 0; c < kChannelsOfALane; ++c) {
      if (!(x.value[item][c] > 0)) grad.value[item][c] = 0;
    }
  }
}

/// Key and value of a pair; zeros where a group of lanes has no pair.
template <int kItems>
struct GroupPair {
  bool present;
  RowPart<kItems> k, v;
};
template <int kItems, bool kAligned, typename Pairs>
__device__ GroupPair<kItems> LoadPair(const GrfShape& shape, const Pairs& pairs,
                                      const GrfInputs<float>& in, std::int64_t e, std::int64_t end,
                                      const GroupLane& lane) {
  const bool present = e < end;
  const std::int64_t j = present ? Node(pairs, e) : 0;
  const int dq = shape.qk_width, dv = shape.v_width;
  return {present, LoadRow<kItems, kAligned>(in.k + j * dq, present ? dq : 0, lane),
          LoadRow<kItems, kAligned>(in.v + j * dv, present ? dv : 0, lane)};
}

/// Each warp handles one query at a time; each group of lanes takes every groups-th pair.
/// Bound: gathers of the pairs' rows; each loaded number serves one multiply-add.
/// Block: 32 rows, which are neighbours in a spatial order, on 8 warps that share a cache.
/// Layout: a group of lanes holds a row, 4 channels a lane and item; sums stay in registers.
template <int kItems, bool kAligned, typename Pairs>
__global__ void GrfForwardKernel(GrfShape shape, Pairs pairs, GrfInputs<float> in, float epsilon,
                                 float delta, int group, float* out, float* normalizer) {
  for (RowsOfWarp rows(shape); rows.Next();) {
    const std::int64_t i = rows.row();
    const int dq = shape.qk_width;
    const int dv = shape.v_width;
    const GroupLane lane = ThisGroupLane(group);
    const auto q = LoadRow<kItems, kAligned>(in.q + i * dq, dq, lane);
    const auto phi_q = CutAt(dq, lane, PhiRow(q, epsilon));
    RowPart<kItems> out_row = ZeroRow<kItems>();
    float sum = 0;
    const std::int64_t end = pairs.offsets[i + 1];
    for (std::int64_t first = pairs.offsets[i]; first < end; first += lane.groups) {
      const std::int64_t e = first + lane.which;
      const auto [present, k, v] = LoadPair<kItems, kAligned>(shape, pairs, in, e, end, lane);
      const float s = SumOverGroup(DotPart(phi_q, PhiRow(k, epsilon)), group);
      // Groups without a pair take part in the exchanges with weight zero.
      const float load = present ? Weight(pairs, e) * s : 0;
      sum += load;
      AddScaledRow(load, v, out_row);
    }
    sum = delta + SumOverGroups(sum, group);
    SumRowOverGroups(group, out_row);
    const float scale = sum == 0 ? 0 : 1 / sum;
    RowPart<kItems> scaled = ZeroRow<kItems>();
    AddScaledRow(scale, out_row, scaled);
    // All groups hold the sums now; the first one stores them.
    if (lane.which != 0) continue;
    StoreRow<kItems, kAligned>(scaled, dv, lane, out + i * dv);
    if (lane.member == 0) normalizer[i] = sum;
  }
}

/// Results of a pair that the row pass leaves: w s / S, w t, and s t, the gradient of w.
struct PairScalars {
  float* value_load;
  float* key_load;
  float* weight_grad;
};

/// Each warp handles one query at a time, as in the forward pass; formulas in grf_attention_body.h.
/// Bound: gathers of the pairs' rows; each loaded number serves two multiply-adds.
/// Block: 32 neighbouring rows on 8 warps that share a cache, as in the forward pass.
/// Layout: as in the forward pass; three numbers a pair are written in the order of the pairs.
template <int kItems, bool kAligned, typename Pairs>
__global__ void GrfBackwardRowsKernel(GrfShape shape, Pairs pairs, GrfInputs<float> in,
                                      GrfSaved<float> saved, float epsilon, int group,
                                      PairScalars scalars, float* grad_q) {
  for (RowsOfWarp rows(shape); rows.Next();) {
    const std::int64_t i = rows.row();
    const int dq = shape.qk_width;
    const int dv = shape.v_width;
    const GroupLane lane = ThisGroupLane(group);
    const auto q = LoadRow<kItems, kAligned>(in.q + i * dq, dq, lane);
    const auto phi_q = CutAt(dq, lane, PhiRow(q, epsilon));
    const auto g = LoadRow<kItems, kAligned>(saved.grad_out + i * dv, dv, lane);
    const float normalizer = saved.normalizer[i];
    const float inverse = normalizer == 0 ? 0 : 1 / normalizer;
    const auto out = LoadRow<kItems, kAligned>(saved.out + i * dv, dv, lane);
    // b_i, and t_e below, as in grf_attention_body.h.
    const float b = -inverse * SumOverGroup(DotPart(g, out), group);
    RowPart<kItems> grad = ZeroRow<kItems>();
    const std::int64_t end = pairs.offsets[i + 1];
    for (std::int64_t first = pairs.offsets[i]; first < end; first += lane.groups) {
      const std::int64_t e = first + lane.which;
      const auto [present, k, v] = LoadPair<kItems, kAligned>(shape, pairs, in, e, end, lane);
      const auto phi_k = PhiRow(k, epsilon);
      const float s = SumOverGroup(DotPart(phi_q, phi_k), group);
      const float t = inverse * SumOverGroup(DotPart(g, v), group) + b;
      const float w = present ? Weight(pairs, e) : 0;
      AddScaledRow(w * t, phi_k, grad);
      if (present && lane.member == 0) {
        scalars.value_load[e] = w * s * inverse;
        scalars.key_load[e] = w * t;
        scalars.weight_grad[e] = s * t;
      }
    }
    SumRowOverGroups(group, grad);
    MaskByRelu(q, grad);
    if (lane.which == 0) StoreRow<kItems, kAligned>(grad, dq, lane, grad_q + i * dq);
  }
}

/// Each warp handles one end node at a time.
/// Bound: gathers of the rows of q and of the gradient for all queries that list the node.
/// Block: 32 neighbouring end nodes on 8 warps that share a cache.
/// Layout: pairs sorted by end node; a group of lanes holds a row, 4 channels a lane and item.
template <int kItems, bool kAligned>
__global__ void GrfBackwardColumnsKernel(GrfShape shape, GrfTransposedPairs transposed,
                                         GrfInputs<float> in, const float* grad_out, float epsilon,
                                         int group, PairScalars scalars, float* grad_k,
                                         float* grad_v) {
  for (RowsOfWarp rows(shape); rows.Next();) {
    const std::int64_t j = rows.row();
    const int dq = shape.qk_width;
    const int dv = shape.v_width;
    const GroupLane lane = ThisGroupLane(group);
    RowPart<kItems> dk_row = ZeroRow<kItems>();
    RowPart<kItems> dv_row = ZeroRow<kItems>();
    const std::int64_t end = transposed.offsets[j + 1];
    for (std::int64_t p = transposed.offsets[j] + lane.which; p < end; p += lane.groups) {
      const std::int64_t i = transposed.roots[p];
      const std::int64_t e = transposed.entry_index[p];
      const auto q = LoadRow<kItems, kAligned>(in.q + i * dq, dq, lane);
      const auto g = LoadRow<kItems, kAligned>(grad_out + i * dv, dv, lane);
      AddScaledRow(scalars.key_load[e], PhiRow(q, epsilon), dk_row);
      AddScaledRow(scalars.value_load[e], g, dv_row);
    }
    // Groups leave the loop after different numbers of pairs; the sums below need the whole warp.
    __syncwarp();
    SumRowOverGroups(group, dk_row);
    SumRowOverGroups(group, dv_row);
    MaskByRelu(LoadRow<kItems, kAligned>(in.k + j * dq, dq, lane), dk_row);
    if (lane.which != 0) continue;
    StoreRow<kItems, kAligned>(dk_row, dq, lane, grad_k + j * dq);
    StoreRow<kItems, kAligned>(dv_row, dv, lane, grad_v + j * dv);
  }
}

bool WidthsFit(const GrfShape& shape) {
  return shape.n >= 0 && shape.qk_width > 0 && shape.v_width > 0 &&
         shape.qk_width <= kMaxGrfCudaWidth && shape.v_width <= kMaxGrfCudaWidth;
}

int WiderWidth(const GrfShape& shape) {
  return shape.qk_width > shape.v_width ? shape.qk_width : shape.v_width;
}

/// Calls function.template operator()<kItems, kAligned>() with the constants for these rows.
template <typename Function>
CudaError ByRowForm(const GrfShape& shape, bool aligned, const Function& function) {
  aligned =
      aligned && shape.qk_width % kChannelsOfALane == 0 && shape.v_width % kChannelsOfALane == 0;
  const auto with = [&]<int kItems>() {
    return aligned ? function.template operator()<kItems, true>()
                   : function.template operator()<kItems, false>();
  };
  static_assert(kMaxGrfCudaWidth <= 2 * kChannelsOfAWarp);
  if (WiderWidth(shape) <= kChannelsOfAWarp) return with.template operator()<1>();
  return with.template operator()<2>();
}

template <typename Pairs>
CudaError Forward(const GrfShape& shape, const Pairs& pairs, const GrfInputs<float>& in,
                  const GrfEpsilons& epsilons, float* out, float* normalizer, CudaStream stream) {
  if (!WidthsFit(shape)) return cudaErrorInvalidValue;
  const bool aligned =
      IsAligned16(in.q) && IsAligned16(in.k) && IsAligned16(in.v) && IsAligned16(out);
  return ByRowForm(shape, aligned, [&]<int kItems, bool kAligned>() {
    return LaunchBlocks(GrfForwardKernel<kItems, kAligned, Pairs>, BlocksFor(shape.n, kBlockRows),
                        kThreads, stream, shape, pairs, in, static_cast<float>(epsilons.feature),
                        static_cast<float>(epsilons.normalizer), GroupLanes(WiderWidth(shape)), out,
                        normalizer);
  });
}

template <typename Pairs>
CudaError Backward(const GrfShape& shape, const Pairs& pairs, const GrfTransposedPairs& transposed,
                   const GrfInputs<float>& in, const GrfSaved<float>& saved,
                   const GrfEpsilons& epsilons, const GrfGradients<float>& gradients,
                   const PairScalars& scalars, CudaStream stream) {
  const bool aligned = IsAligned16(in.q) && IsAligned16(in.k) && IsAligned16(in.v) &&
                       IsAligned16(saved.out) && IsAligned16(saved.grad_out) &&
                       IsAligned16(gradients.q) && IsAligned16(gradients.k) &&
                       IsAligned16(gradients.v);
  const std::int64_t blocks = BlocksFor(shape.n, kBlockRows);
  const int group = GroupLanes(WiderWidth(shape));
  const float epsilon = static_cast<float>(epsilons.feature);
  return ByRowForm(shape, aligned, [&]<int kItems, bool kAligned>() {
    INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(GrfBackwardRowsKernel<kItems, kAligned, Pairs>,
                                                 blocks, kThreads, stream, shape, pairs, in, saved,
                                                 epsilon, group, scalars, gradients.q));
    return LaunchBlocks(GrfBackwardColumnsKernel<kItems, kAligned>, blocks, kThreads, stream, shape,
                        transposed, in, saved.grad_out, epsilon, group, scalars, gradients.k,
                        gradients.v);
  });
}

}  // namespace

CudaError LaunchGrfForward(const GrfShape& shape, const GrfPackedPairs<float>& pairs,
                           const GrfInputs<float>& inputs, const GrfEpsilons& epsilons, float* out,
                           float* normalizer, CudaStream stream) {
  return Forward(shape, pairs, inputs, epsilons, out, normalizer, stream);
}

CudaError LaunchWeightedGrfForward(const GrfShape& shape, const GrfWeightedPairs<float>& pairs,
                                   const GrfInputs<float>& inputs, const GrfEpsilons& epsilons,
                                   float* out, float* normalizer, CudaStream stream) {
  return Forward(shape, pairs, inputs, epsilons, out, normalizer, stream);
}

std::int64_t GrfCudaBackwardScratchCount(std::int64_t n, std::int64_t max_pairs) {
  return 3 * max_pairs + CodeChunks(n) * kWalkCodes;
}

CudaError LaunchGrfBackward(const GrfShape& shape, const GrfPackedPairs<float>& pairs,
                            const GrfTransposedPairs& transposed, std::int64_t max_pairs,
                            const GrfInputs<float>& inputs, const GrfSaved<float>& saved,
                            const GrfEpsilons& epsilons, const GrfGradients<float>& gradients,
                            float* scratch, CudaStream stream) {
  if (!WidthsFit(shape)) return cudaErrorInvalidValue;
  if (shape.n == 0) {
    return TakeError(cudaMemsetAsync(gradients.weights, 0, kWalkCodes * sizeof(float), stream));
  }
  const PairScalars scalars = {scratch, scratch + max_pairs, scratch + 2 * max_pairs};
  INTERLACER_CUDA_RETURN_IF_ERROR(
      Backward(shape, pairs, transposed, inputs, saved, epsilons, gradients, scalars, stream));
  return LaunchCodeSums(shape.n, pairs, scalars.weight_grad, scratch + 3 * max_pairs,
                        gradients.weights, stream);
}

CudaError LaunchWeightedGrfBackward(const GrfShape& shape, const GrfWeightedPairs<float>& pairs,
                                    const GrfTransposedPairs& transposed, std::int64_t max_pairs,
                                    const GrfInputs<float>& inputs, const GrfSaved<float>& saved,
                                    const GrfEpsilons& epsilons,
                                    const GrfGradients<float>& gradients, float* scratch,
                                    CudaStream stream) {
  if (!WidthsFit(shape)) return cudaErrorInvalidValue;
  return Backward(shape, pairs, transposed, inputs, saved, epsilons, gradients,
                  {scratch, scratch + max_pairs, gradients.weights}, stream);
}

}  // namespace interlacer
