#include "model/kernels/feed_forward_tile_cuda.h"
#include "model/kernels/fused_linear_cuda.h"
#include "model/kernels/warp_rows.h"

namespace interlacer {
namespace {

constexpr int kReduceColumns = 32;  // numbers of the state that one block adds up
constexpr int kReduceSlices = 32;   // threads that divide the sum of one number
constexpr int kStateThreads = 256;
constexpr int kStateWarps = kStateThreads / kWarpLanes;
constexpr std::int64_t kStateRows = kStateWarps * kWarpRows;  // of a block in one turn
/// Warps that work on one head, and rows that a warp processes at once.
constexpr int kHeadWarps = kStateWarps / kFusedHeads;
constexpr int kRowsAtOnce = 2 * kWarpRows;
constexpr int kTokenTiles = kRowsAtOnce / 8;

/// Array sizes for a head width.
template <int kHead>
struct HeadSizes {
  static constexpr int kWidth = kFusedHeads * kHead;
  static constexpr int kBlocks = kHead / 16;  ///< groups of 16 channels
  static constexpr int kState = kHead * (kHead + 1);
  /// 16-bit numbers in the state of a head, packed as right sides of products.
  static constexpr int kPackedState = kHead * kHead;
};

std::int64_t PartialCount(std::int64_t n) {
  return kHeadWarps * ((n + kLinearFusedTokens - 1) / kLinearFusedTokens);
}

/// Size of all partial states: [PartialCount, heads, head * (head + 1)].
std::int64_t PartialStates(std::int64_t n, int width) {
  return PartialCount(n) * width * (width / kFusedHeads + 1);
}

struct LinearScratch {
  float* partial;
  float* denominator_weights;   // [heads, head], z
  std::uint16_t* packed_state;  // [heads, head * head]
};

LinearScratch CutScratch(float* scratch, std::int64_t n, int width) {
  float* const after = scratch + PartialStates(n, width);
  return {scratch, after, reinterpret_cast<std::uint16_t*>(after + width)};
}

/// Tensor-core sums of 16 channels by all tokens at once; a row is a channel.
using ChannelTiles = float[kTokenTiles][4];

/// sums = W x + b for channels [first, first + 16) of a layer and kRowsAtOnce rows. The product is
/// transposed, with channels as rows and tokens as columns, so that its results can be operands of
/// the next product. `right` holds the rows of two tiles.
template <int kWidth>
__device__ void ProjectTransposed(const uint4* weights, int first, const float* bias,
                                  const SharedRight (&right)[2], ChannelTiles& sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int g = ThisTileLane().g;
#pragma unroll
  for (int j = 0; j < kTokenTiles; ++j) {
    sums[j][0] = sums[j][1] = bias[first + g];
    sums[j][2] = sums[j][3] = bias[first + g + 8];
  }
#pragma unroll 4
  for (int step = 0; step < kWidth / 16; ++step) {
    const uint4 w = weights[(step * (kWidth / 16) + first / 16) * kWarpLanes + lane];
    const std::uint32_t channels[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const uint4 rows = right[s].Get(step);
      MultiplyAdd(sums[2 * s], channels, rows.x, rows.y);
      MultiplyAdd(sums[2 * s + 1], channels, rows.z, rows.w);
    }
  }
}

/// Each block sums phi(k) [v | 1]^T of every head over kLinearFusedTokens rows. Its warps normalise
/// rows together; then each processes half of these rows for one head.
/// Bound: tensor-core products, whose packed weights come from the cache once for 32 rows of a
/// warp.
/// Block: 8 warps, two for each of the four heads, whose states fit their registers.
/// Layout: normalised rows are right sides in shared memory; partial states [block, half, head].
template <int kHead>
__global__ void __launch_bounds__(kStateThreads)
    LinearStateKernel(std::int64_t n, LinearLayers layers, float epsilon, const float* h,
                      float* partial) {
  using S = HeadSizes<kHead>;
  constexpr int kWidth = S::kWidth;
  uint4* const shared = LaunchedShared<uint4>();
  const TileLane lane = ThisTileLane();
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int head = warp % kFusedHeads;
  const int part = warp / kFusedHeads;
  const uint4* const key = reinterpret_cast<const uint4*>(layers.packed_key);
  const uint4* const value = reinterpret_cast<const uint4*>(layers.packed_value);
  float state[S::kBlocks][kHead / 8][4] = {};
  float mass[S::kBlocks][2] = {};
  for (std::int64_t first = 0; first < kLinearFusedTokens; first += kStateRows) {
    const std::int64_t begin = blockIdx.x * kLinearFusedTokens + first;
    if (begin >= n) break;
    // The rows of the last turn may still be read.
    __syncthreads();
    NormRows<kWidth>({begin + warp * kWarpRows, n}, h, layers.norm,
                     PartOfTile<kWidth, SharedRight>(shared, warp));
    __syncthreads();
    for (int turn = 0; turn < kStateWarps / (2 * kHeadWarps); ++turn) {
      const int rows_of = 2 * (turn * kHeadWarps + part);  // the first of two warps
      const SharedRight right[2] = {PartOfTile<kWidth, SharedRight>(shared, rows_of),
                                    PartOfTile<kWidth, SharedRight>(shared, rows_of + 1)};
      const std::int64_t token = begin + rows_of * kWarpRows + 2 * lane.t;
      std::uint32_t keys[S::kBlocks][2][4];
#pragma unroll
      for (int block = 0; block < S::kBlocks; ++block) {
        ChannelTiles sums;
        ProjectTransposed<kWidth>(key, head * kHead + 16 * block, layers.key_bias, right, sums);
#pragma unroll
        for (int j = 0; j < kTokenTiles; ++j) {
#pragma unroll
          for (int x = 0; x < 4; ++x) {
            // Tokens beyond n must not contribute epsilon to the sums.
            const bool present = token + 8 * j + x % 2 < n;
            sums[j][x] = present ? ReluFeature(sums[j][x], epsilon) : 0;
          }
        }
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          RoundTiles(sums[2 * step], sums[2 * step + 1], keys[block][step]);
#pragma unroll
          for (int x = 0; x < 4; ++x) {
            // Sums the rounded features, so that denominators match the products.
            mass[block][x % 2] += LowHalf(keys[block][step][x]) + HighHalf(keys[block][step][x]);
          }
        }
      }
#pragma unroll
      for (int block = 0; block < S::kBlocks; ++block) {
        ChannelTiles sums;
        ProjectTransposed<kWidth>(value, head * kHead + 16 * block, layers.value_bias, right, sums);
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          std::uint32_t values[4];
          RoundTiles(sums[2 * step], sums[2 * step + 1], values);
#pragma unroll
          for (int a = 0; a < S::kBlocks; ++a) {
            MultiplyAdd(state[a][2 * block], keys[a][step], values[0], values[2]);
            MultiplyAdd(state[a][2 * block + 1], keys[a][step], values[1], values[3]);
          }
        }
      }
    }
  }
  float* const to =
      partial + ((std::int64_t{blockIdx.x} * kHeadWarps + part) * kFusedHeads + head) * S::kState;
#pragma unroll
  for (int block = 0; block < S::kBlocks; ++block) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int a = 16 * block + lane.g + 8 * half;
#pragma unroll
      for (int j = 0; j < kHead / 8; ++j) {
        *reinterpret_cast<float2*>(to + a * kHead + 8 * j + 2 * lane.t) =
            float2{state[block][j][2 * half], state[block][j][2 * half + 1]};
      }
      const float sum = SumOverRow(mass[block][half]);
      if (lane.t == 0) to[kHead * kHead + a] = sum;
    }
  }
}

/// Adds the partial states in a fixed order, kReduceSlices partial sums first, and divides by n.
/// Bound: reads of the partial states, each once.
/// Block: 32 numbers wide, so that a warp reads 128 bytes in a row; 32 slices shorten each sum.
/// Layout: the state leaves as bfloat16 in the order in which tensor cores read right sides.
template <int kHead>
__global__ void __launch_bounds__(kReduceColumns* kReduceSlices)
    AddStatesKernel(std::int64_t partials, const float* partial, float scale,
                    float* denominator_weights, std::uint16_t* packed_state) {
  using S = HeadSizes<kHead>;
  constexpr std::int64_t kCount = kFusedHeads * S::kState;
  __shared__ float sums[kReduceSlices][kReduceColumns];
  const int column = static_cast<int>(threadIdx.x) % kReduceColumns;
  const int slice = static_cast<int>(threadIdx.x) / kReduceColumns;
  const std::int64_t x = static_cast<std::int64_t>(blockIdx.x) * kReduceColumns + column;
  float sum = 0;
  if (x < kCount) {
#pragma unroll 4
    for (std::int64_t p = slice; p < partials; p += kReduceSlices) sum += partial[p * kCount + x];
  }
  sums[slice][column] = sum;
  __syncthreads();
  if (slice != 0 || x >= kCount) return;
  for (int s = 1; s < kReduceSlices; ++s) sum += sums[s][column];
  sum *= scale;
  const int head = static_cast<int>(x / S::kState);
  const int at = static_cast<int>(x % S::kState);
  if (at >= kHead * kHead) {
    denominator_weights[head * kHead + at - kHead * kHead] = sum;
    return;
  }
  // Packed index of row a and column b of the state, a right side of a product.
  const int a = at / kHead;
  const int b = at % kHead;
  const int lane = b % 8 * 4 + a % 8 / 2;
  const int place =
      ((a / 16 * (kHead / 8) + b / 8) * kWarpLanes + lane) * 4 + a % 16 / 8 * 2 + a % 2;
  packed_state[head * S::kPackedState + place] =
      static_cast<std::uint16_t>(RoundPair(sum, 0) & 0xFFFFu);
}

/// Mixes the queries of one head, (phi(q) / den) S; input and output have kHead columns.
template <int kHead>
__device__ void MixHead(const float (*q)[4], const float* z, const std::uint16_t* packed_state,
                        float epsilon, float delta, std::uint32_t (*mixed)[4]) {
  const TileLane lane = ThisTileLane();
  float features[kHead / 8][4];
  float sum[2] = {};
#pragma unroll
  for (int j = 0; j < kHead / 8; ++j) {
    const float2 weight = *reinterpret_cast<const float2*>(z + 8 * j + 2 * lane.t);
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      features[j][x] = ReluFeature(q[j][x], epsilon);
      sum[x / 2] += features[j][x] * (x % 2 == 0 ? weight.x : weight.y);
    }
  }
  float scale[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float denominator = delta + SumOverRow(sum[half]);
    scale[half] = denominator == 0 ? 0 : 1 / denominator;
  }
  const uint2* const state =
      reinterpret_cast<const uint2*>(packed_state) + static_cast<int>(threadIdx.x) % kWarpLanes;
  float sums[kHead / 8][4] = {};
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      features[2 * step][x] *= scale[x / 2];
      features[2 * step + 1][x] *= scale[x / 2];
    }
    std::uint32_t left[4];
    RoundTiles(features[2 * step], features[2 * step + 1], left);
#pragma unroll
    for (int j = 0; j < kHead / 8; ++j) {
      const uint2 right = state[(step * (kHead / 8) + j) * kWarpLanes];
      MultiplyAdd(sums[j], left, right.x, right.y);
    }
  }
#pragma unroll
  for (int step = 0; step < kHead / 16; ++step) {
    RoundTiles(sums[2 * step], sums[2 * step + 1], mixed[step]);
  }
}

/// Each warp computes queries, mixing, output layer and feed-forward layers for its row tiles.
/// Bound: reads of weights from shared memory, each of which serves all row tiles of a warp.
/// Block: 4 warps share double-buffered weights; two blocks a multiprocessor, for registers.
/// Layout: rows, queries and mixed rows stay in registers; normalised rows in shared memory.
template <int kHead>
__global__ void __launch_bounds__(DenseBlock<kFusedHeads * kHead>::kThreads,
                                  DenseBlock<kFusedHeads * kHead>::kAtOnce)
    LinearApplyKernel(RowRange range, LinearLayers layers, float epsilon, float delta,
                      const float* denominator_weights, const std::uint16_t* packed_state,
                      FeedForwardLayers feed_forward, float* h) {
  using S = HeadSizes<kHead>;
  constexpr int kWidth = S::kWidth;
  constexpr int kPiece = LinearPiece(kWidth);
  using Block = DenseBlock<kWidth>;
  constexpr int kRowTiles = Block::kRowTiles;
  uint4* const shared = LaunchedShared<uint4>();
  uint4* const stream_shared = shared + Block::kLeftVectors;
  const WarpLeft<kWidth, kRowTiles> left(shared);
  RowTiles<kWidth> x[kRowTiles];
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    LoadTiles<kWidth>(ThisWarpRows<kRowTiles>(range.begin, range.end, r), h, x[r]);
    NormTiles<kWidth>(x[r], layers.norm, left.Tile(r));
    // The bias of the output layer joins the residual sum before the products are added.
    AddBias(layers.out_bias, x[r]);
  }
  PairStream<kWidth, kPiece> stream(reinterpret_cast<const uint4*>(layers.packed_query_out),
                                    kWidth / kPiece, stream_shared);
#pragma unroll 1
  for (int piece = 0; piece < kWidth / kPiece; ++piece) {
    const uint4* const weights = stream.Next();
    float q[kRowTiles][kPiece / 8][4] = {};
    MultiplyTiles<kWidth>(left, weights, q);
    RegisterLeft<kRowTiles, kPiece / 16> mixed;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      AddBias(layers.query_bias + piece * kPiece, q[r]);
#pragma unroll
      for (int in_piece = 0; in_piece < kPiece / kHead; ++in_piece) {
        const int head = piece * (kPiece / kHead) + in_piece;
        MixHead<kHead>(q[r] + in_piece * (kHead / 8), denominator_weights + head * kHead,
                       packed_state + head * S::kPackedState, epsilon, delta,
                       mixed.tiles[r] + in_piece * (kHead / 16));
      }
    }
#pragma unroll
    for (int step = 0; step < kPiece / 16; step += 2) {
      MultiplyTiles<32>([&](int r, int half, std::uint32_t(&to)[4]) { mixed(r, step + half, to); },
                        weights + kWidth * kPiece / 8 + step / 2 * (kWidth / 8) * kWarpLanes, x);
    }
  }
  if (feed_forward.packed != nullptr) {
    AddFeedForwardTiles<kWidth>(feed_forward, left, stream_shared, x);
  }
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    StoreTiles<kWidth>(ThisWarpRows<kRowTiles>(range.begin, range.end, r), x[r], h);
  }
}

/// Calls function.template operator()<kHead>() with the head width as a constant.
template <typename Function>
CudaError ByHead(int width, const Function& function) {
  switch (width / kFusedHeads) {
    case 16:
      return function.template operator()<16>();
    case 32:
      return function.template operator()<32>();
    default:
      return function.template operator()<64>();
  }
}

}  // namespace

bool FitsFusedLinear(int width, int heads) { return FitsFusedCuda(width) && heads == kFusedHeads; }

std::int64_t FusedLinearScratchCount(std::int64_t n, int width) {
  return PartialStates(n, width) + width + std::int64_t{width} * (width / kFusedHeads) / 2;
}

CudaError LaunchAddLinearAttention(std::int64_t n, int width, const RowRange& changed,
                                   const LinearLayers& layers,
                                   const LinearAttentionEpsilons& epsilons,
                                   const FeedForwardLayers& feed_forward, float* scratch, float* h,
                                   CudaStream stream) {
  if (n < 0 || !FitsFusedCuda(width) || changed.begin < 0 || changed.begin > changed.end ||
      changed.end > n || feed_forward.hidden_width % kDensePiece != 0) {
    return cudaErrorInvalidValue;
  }
  if (n == 0) return 0;
  const LinearScratch cut = CutScratch(scratch, n, width);
  const float epsilon = static_cast<float>(epsilons.feature);
  return ByHead(width, [&]<int kHead>() {
    using S = HeadSizes<kHead>;
    constexpr int kWidth = S::kWidth;
    using Block = DenseBlock<kWidth>;
    constexpr std::int64_t kVectorBytes = sizeof(uint4);
    constexpr int kStateVectors = kStateWarps * (kWidth / 16) * kWarpLanes;
    constexpr int kApplyVectors =
        Block::kLeftVectors + PairStream<kWidth, LinearPiece(kWidth)>::kSharedVectors;
    static_assert(kApplyVectors * kVectorBytes <= kFusedSharedBytesOfAColumn * kWidth);
    INTERLACER_CUDA_RETURN_IF_ERROR(
        LaunchBlocks(LinearStateKernel<kHead>, BlocksFor(n, kLinearFusedTokens),
                     BlockShape{kStateThreads, kStateVectors * kVectorBytes}, stream, n, layers,
                     epsilon, h, cut.partial));
    INTERLACER_CUDA_RETURN_IF_ERROR(
        LaunchBlocks(AddStatesKernel<kHead>, BlocksFor(kFusedHeads * S::kState, kReduceColumns),
                     kReduceColumns * kReduceSlices, stream, PartialCount(n), cut.partial,
                     static_cast<float>(1.0 / static_cast<double>(n)), cut.denominator_weights,
                     cut.packed_state));
    return LaunchBlocks(LinearApplyKernel<kHead>,
                        BlocksFor(changed.end - changed.begin, Block::kRows),
                        BlockShape{Block::kThreads, kApplyVectors * kVectorBytes}, stream, changed,
                        layers, epsilon, static_cast<float>(epsilons.normalizer),
                        cut.denominator_weights, cut.packed_state, feed_forward, h);
  });
}

}  // namespace interlacer
