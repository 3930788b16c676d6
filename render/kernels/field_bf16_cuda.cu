#include <cmath>

#include "common/kernels/block_memory.h"
#include "common/kernels/launch.h"
#include "common/kernels/tensor_core.h"
#include "render/kernels/annular_row_bf16.h"
#include "render/kernels/field_cuda.h"

namespace interlacer {
namespace {

constexpr int kPackThreads = 128;
/// Warps of a block, which share the weights; half of them where shared memory is short.
constexpr int kMostWarps = 8;
constexpr int kBlocksEach = 2;  // of a multiprocessor, as far as registers go
constexpr int kRows = 16;       // samples of a warp's tile
constexpr int kDepth = 16;      // inputs of one product
constexpr int kColumns = 8;     // outputs of one product
constexpr int kOutputs = 4;     // of the field, padded to kColumns

/// Where a packed field's arrays begin, in words of two bfloat16 numbers or of one float32. Weights
/// [out][in / 2 pairs + 4]: rows that a product reads at once lie in different banks.
struct Layout {
  int input_pairs;  ///< of the padded inputs
  int input_stride, hidden_stride;
  int w1, w2, w3, b1, b2, b3, words;
};

INTERLACER_HOST_DEVICE int PaddedHidden(int hidden_width) { return hidden_width <= 64 ? 64 : 128; }

INTERLACER_HOST_DEVICE Layout LayOut(int input_width, int hidden_width) {
  const int hidden = PaddedHidden(hidden_width);
  Layout l;
  l.input_pairs = (input_width + kDepth - 1) / kDepth * kDepth / 2;
  l.input_stride = l.input_pairs + 4;
  l.hidden_stride = hidden / 2 + 4;
  l.w1 = 0;
  l.w2 = l.w1 + hidden * l.input_stride;
  l.w3 = l.w2 + hidden * l.hidden_stride;
  l.b1 = l.w3 + kColumns * l.hidden_stride;
  l.b2 = l.b1 + hidden;
  l.b3 = l.b2 + hidden;
  l.words = l.b3 + kColumns;
  return l;
}

/// Word `place` of a matrix [rows, columns] in rows of `stride` pairs, zero beyond it.
__device__ std::uint32_t PackedPair(const float* matrix, int rows, int columns, int stride,
                                    int place) {
  const int row = place / stride;
  const int column = 2 * (place % stride);
  const float* at = matrix + static_cast<std::int64_t>(row) * columns + column;
  return RoundPair(row < rows && column < columns ? at[0] : 0,
                   row < rows && column + 1 < columns ? at[1] : 0);
}

/// Rounds and lays out the weights, once per change of the weights.
/// Bound: memory; a word is written once, from at most two weights.
/// Block: a thread per word of the packed field, nothing shared.
/// Layout: as FieldKernel reads it, the float32 biases behind all weights.
__global__ void PackKernel(FieldWeightPointers w, int input_width, int hidden_width,
                           std::uint32_t* packed) {
  const Layout l = LayOut(input_width, hidden_width);
  const int i = static_cast<int>(GlobalThread());
  if (i >= l.words) return;
  if (i < l.w2) {
    packed[i] = PackedPair(w.w1, hidden_width, input_width, l.input_stride, i - l.w1);
  } else if (i < l.w3) {
    packed[i] = PackedPair(w.w2, hidden_width, hidden_width, l.hidden_stride, i - l.w2);
  } else if (i < l.b1) {
    packed[i] = PackedPair(w.w3, kOutputs, hidden_width, l.hidden_stride, i - l.w3);
  } else if (i < l.b2) {
    packed[i] = i - l.b1 < hidden_width ? __float_as_uint(w.b1[i - l.b1]) : 0;
  } else if (i < l.b3) {
    packed[i] = i - l.b2 < hidden_width ? __float_as_uint(w.b2[i - l.b2]) : 0;
  } else {
    packed[i] = i - l.b3 < kOutputs ? __float_as_uint(w.b3[i - l.b3]) : 0;
  }
}

/// Biases of the columns that the lane's sums belong to.
__device__ void BeginSums(const std::uint32_t* bias, int tile, float (&sums)[4]) {
  const int column = kColumns * tile + 2 * (static_cast<int>(threadIdx.x) % 4);
  sums[0] = sums[2] = __uint_as_float(bias[column]);
  sums[1] = sums[3] = __uint_as_float(bias[column + 1]);
}

/// Sums of 16 columns, rectified, become the left side of the next product.
__device__ void NextLeft(const float (&low)[4], const float (&high)[4], std::uint32_t (&left)[4]) {
  left[0] = RoundPositivePair(low[0], low[1]);
  left[1] = RoundPositivePair(low[2], low[3]);
  left[2] = RoundPositivePair(high[0], high[1]);
  left[3] = RoundPositivePair(high[2], high[3]);
}

/// Logits of a tile of 16 rows [16][input_stride] in shared memory; a lane gets those of rows g and
/// g + 8 at columns 2t, 2t + 1 with lane = 4 g + t.
template <int kHidden>
__device__ void Evaluate(const std::uint32_t* field, const Layout& l, const std::uint32_t* rows,
                         float (&logits)[4]) {
  constexpr int kTiles = kHidden / kColumns;
  constexpr int kSteps = kHidden / kDepth;
  const int group = static_cast<int>(threadIdx.x) % kWarpLanes / 4;
  const int lane_pair = static_cast<int>(threadIdx.x) % 4;
  float sums[kTiles][4];
  std::uint32_t hidden[kSteps][4];
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) BeginSums(field + l.b1, tile, sums[tile]);
  const std::uint32_t* left_row = rows + group * l.input_stride + lane_pair;
  const std::uint32_t* right_row = field + l.w1 + group * l.input_stride + lane_pair;
  for (int pair = 0; pair < l.input_pairs; pair += kDepth / 2) {
    const std::uint32_t left[4] = {left_row[pair], left_row[pair + 8 * l.input_stride],
                                   left_row[pair + 4], left_row[pair + 4 + 8 * l.input_stride]};
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const std::uint32_t* right = right_row + kColumns * tile * l.input_stride + pair;
      MultiplyAdd(sums[tile], left, right[0], right[4]);
    }
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    NextLeft(sums[2 * step], sums[2 * step + 1], hidden[step]);
  }
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    BeginSums(field + l.b2, tile, sums[tile]);
    const std::uint32_t* right =
        field + l.w2 + (kColumns * tile + group) * l.hidden_stride + lane_pair;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      MultiplyAdd(sums[tile], hidden[step], right[8 * step], right[8 * step + 4]);
    }
  }
  BeginSums(field + l.b3, 0, logits);
  const std::uint32_t* right = field + l.w3 + group * l.hidden_stride + lane_pair;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    NextLeft(sums[2 * step], sums[2 * step + 1], hidden[step]);
    MultiplyAdd(logits, hidden[step], right[8 * step], right[8 * step + 4]);
  }
}

/// Words of a block's shared memory: the field, then a tile of rows a warp.
INTERLACER_HOST_DEVICE int BlockWords(const Layout& l, int warps) {
  return l.words + warps * kRows * l.input_stride;
}

/// Inputs and logits of tiles of 16 samples in one pass. kPaired as in annular_row_bf16.h.
/// Bound: gathers of neighbours and their features; weights and activations never leave the chip.
/// Block: as many warps as share one copy of the weights in shared memory, two blocks a
/// multiprocessor; a warp has its own tile and waits for no other.
/// Layout: weights [out][in] with padded rows, a tile [16][input_stride] per warp, both in pairs of
/// bfloat16 numbers.
template <int kHidden, bool kPaired>
__global__ void __launch_bounds__(kWarpLanes* kMostWarps, kBlocksEach)
    FieldKernel(const __grid_constant__ AnnularParameters p, const float* features,
                const std::uint32_t* slots, const float* sq_dist_m2, std::int64_t m,
                const std::uint32_t* packed, float sq_radius_m2, float* logits, PassRange pass) {
  const Layout l = LayOut(p.kernel_count * (p.feature_width + 1), kHidden);
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  std::uint32_t* const field = LaunchedShared<std::uint32_t>();
  const int warps = static_cast<int>(blockDim.x) / kWarpLanes;
  std::uint32_t* const rows = field + BlockWords(l, warp);
  const LaneKernel kernel = KernelOfLane<kPaired>(p);
  const std::int64_t count = CountInPass(pass, m);
  const std::int64_t tiles = (count + kRows - 1) / kRows;
  if (static_cast<std::int64_t>(blockIdx.x) * warps >= tiles) return;
  for (int i = 4 * static_cast<int>(threadIdx.x); i < l.words; i += 4 * kWarpLanes * warps) {
    BeginCopy16(field + i, packed + i);
  }
  // Columns of padding stay zero; rows beyond the samples are computed and not written.
  for (int i = lane; i < kRows * l.input_stride; i += kWarpLanes) rows[i] = 0;
  AwaitCopies();
  __syncthreads();
  for (std::int64_t tile = GlobalWarp(); tile < tiles;
       tile += static_cast<std::int64_t>(gridDim.x) * warps) {
    const std::int64_t first = tile * kRows;
    const int here = static_cast<int>(count - first < kRows ? count - first : kRows);
    AnnularRowsBf16<kPaired>(p, kernel, features, slots + kGatherWidth * first,
                             sq_dist_m2 + kGatherWidth * first, here, l.input_stride, rows);
    __syncwarp();
    float values[4];
    Evaluate<kHidden>(field, l, rows, values);
    __syncwarp();
    if (lane % 4 >= kOutputs / 2) continue;
    for (int half = 0; half < 2; ++half) {
      const std::int64_t s = first + lane / 4 + kColumns * half;
      if (s >= count) continue;
      const bool density = lane % 4 == 0;
      const bool empty = density && !(sq_dist_m2[kGatherWidth * s] <= sq_radius_m2);
      logits[kOutputs * s + 2 * (lane % 4)] = empty ? -INFINITY : values[2 * half];
      logits[kOutputs * s + 2 * (lane % 4) + 1] = values[2 * half + 1];
    }
  }
}

template <bool kPaired>
auto KernelFor(int hidden_width) {
  return PaddedHidden(hidden_width) == 64 ? FieldKernel<64, kPaired> : FieldKernel<128, kPaired>;
}

/// The shape of a field's blocks on the current device.
CudaError ChooseShape(const Layout& l, BlockShape* shape) {
  int most_bytes = 0;
  INTERLACER_CUDA_RETURN_IF_ERROR(BlockSharedBytes(&most_bytes));
  const auto with_warps = [&l](int warps) {
    return BlockShape{kWarpLanes * warps,
                      static_cast<std::int64_t>(sizeof(std::uint32_t)) * BlockWords(l, warps)};
  };
  *shape = with_warps(kMostWarps);
  if (shape->shared_bytes > most_bytes) *shape = with_warps(kMostWarps / 2);
  return 0;
}

bool Fits(int input_width, int hidden_width) {
  return input_width >= 1 && input_width <= kMaxBf16InputWidth && hidden_width >= 1 &&
         hidden_width <= kMaxBf16HiddenWidth;
}

}  // namespace

std::size_t PackedFieldBytes(int input_width, int hidden_width) {
  return sizeof(std::uint32_t) * static_cast<std::size_t>(LayOut(input_width, hidden_width).words);
}

CudaError LaunchPackField(const FieldWeightPointers& weights, int input_width, int hidden_width,
                          void* packed_device, CudaStream stream) {
  if (!Fits(input_width, hidden_width)) return cudaErrorInvalidValue;
  return LaunchBlocks(PackKernel, BlocksFor(LayOut(input_width, hidden_width).words, kPackThreads),
                      kPackThreads, stream, weights, input_width, hidden_width,
                      static_cast<std::uint32_t*>(packed_device));
}

CudaError LaunchFieldBf16(const AnnularParameters& parameters, const float* features_device,
                          const std::uint32_t* slots_device, const float* sq_dist_device,
                          std::int64_t m, const void* packed_device, int hidden_width,
                          float empty_radius_m, float* logits_device, CudaStream stream,
                          const PassRange& pass) {
  const int input_width = parameters.kernel_count * (parameters.feature_width + 1);
  if (parameters.kernel_count > kMaxAnnularKernels || !Fits(input_width, hidden_width)) {
    return cudaErrorInvalidValue;
  }
  const bool paired = parameters.kernel_count <= kKernelsAtOnce<true> &&
                      parameters.feature_width % 2 == 0 && parameters.feature_stride % 2 == 0;
  const auto kernel = paired ? KernelFor<true>(hidden_width) : KernelFor<false>(hidden_width);
  BlockShape shape = {};
  INTERLACER_CUDA_RETURN_IF_ERROR(ChooseShape(LayOut(input_width, hidden_width), &shape));
  // Blocks stay and visit tiles in turns: the weights are loaded once a block.
  std::int64_t resident = 0;
  INTERLACER_CUDA_RETURN_IF_ERROR(ResidentBlocks(kernel, shape, &resident));
  const std::int64_t needed = BlocksFor(BlocksFor(m, kRows), shape.threads / kWarpLanes);
  return LaunchBlocks(kernel, needed < resident ? needed : resident, shape, stream, parameters,
                      features_device, slots_device, sq_dist_device, m,
                      static_cast<const std::uint32_t*>(packed_device),
                      empty_radius_m * empty_radius_m, logits_device, pass);
}

}  // namespace interlacer
