#include "model/kernels/feed_forward_tile_cuda.h"
#include "model/kernels/fused_dense_cuda.h"
#include "model/kernels/warp_rows.h"

namespace interlacer {
namespace {

/// Streams the pieces of a single layer.
template <int kWidth, int kThreads>
using SingleStream = WeightStream<kWidth * kDensePiece / 8, kThreads>;

constexpr std::int64_t Bytes(int vectors) { return std::int64_t{vectors} * sizeof(uint4); }

/// Loads 32 columns of `mixed` from `column` on as the left side of a product.
template <int kWidth, int kRowTiles>
__device__ RegisterLeft<kRowTiles, 2> LoadMixed(const RowRange& range, const std::uint16_t* mixed,
                                                int column) {
  const TileLane lane = ThisTileLane();
  RegisterLeft<kRowTiles, 2> left = {};
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    const WarpRows rows = ThisWarpRows<kRowTiles>(range.begin, range.end, r);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = rows.Row(lane.g, half);
      if (row >= rows.end) continue;
      const std::uint16_t* const from = mixed + row * kWidth + column + 2 * lane.t;
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        left.tiles[r][part / 2][part % 2 * 2 + half] =
            *reinterpret_cast<const std::uint32_t*>(from + 8 * part);
      }
    }
  }
  return left;
}

/// h += out(mixed), if `out` is present, then the feed-forward layers, if present.
/// Bound: reads of weights from shared memory, each of which serves all row tiles of a warp.
/// Block: 4 warps share double-buffered weights; two blocks a multiprocessor, for registers.
/// Layout: rows stay in registers in the order of tensor-core sums from load to store.
template <int kWidth>
__global__ void __launch_bounds__(DenseBlock<kWidth>::kThreads, DenseBlock<kWidth>::kAtOnce)
    AddLayersKernel(RowRange range, OutputLayer out, const std::uint16_t* mixed,
                    FeedForwardLayers feed_forward, float* h) {
  using Block = DenseBlock<kWidth>;
  constexpr int kRowTiles = Block::kRowTiles;
  uint4* const shared = LaunchedShared<uint4>();
  uint4* const stream_shared = shared + Block::kLeftVectors;
  RowTiles<kWidth> x[kRowTiles];
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    LoadTiles<kWidth>(ThisWarpRows<kRowTiles>(range.begin, range.end, r), h, x[r]);
    if (out.packed != nullptr) AddBias(out.bias, x[r]);
  }
  if (out.packed != nullptr) {
    SingleStream<kWidth, Block::kThreads> stream(reinterpret_cast<const uint4*>(out.packed),
                                                 kWidth / kDensePiece, stream_shared);
#pragma unroll 1
    for (int piece = 0; piece < kWidth / kDensePiece; ++piece) {
      const auto left = LoadMixed<kWidth, kRowTiles>(range, mixed, piece * kDensePiece);
      MultiplyTiles<kDensePiece>(left, stream.Next(), x);
    }
  }
  if (feed_forward.packed != nullptr) {
    AddFeedForwardTiles<kWidth>(feed_forward, WarpLeft<kWidth, kRowTiles>(shared), stream_shared,
                                x);
  }
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    StoreTiles<kWidth>(ThisWarpRows<kRowTiles>(range.begin, range.end, r), x[r], h);
  }
}

/// Transposes 4 x 4 words within each group of four lanes: word x of lane t becomes word t of lane
/// x.
__device__ inline void TransposeInQuad(std::uint32_t (&words)[4]) {
  const int t = ThisTileLane().t;
#pragma unroll
  for (int apart = 1; apart <= 2; apart *= 2) {
    const bool is_upper = (t & apart) != 0;
#pragma unroll
    for (int x = 0; x < 4; ++x) {
      if ((x & apart) != 0) continue;
      const std::uint32_t low = words[x], high = words[x + apart];
      const std::uint32_t other = __shfl_xor_sync(kWholeWarp, is_upper ? low : high, apart);
      words[x] = is_upper ? other : low;
      words[x + apart] = is_upper ? high : other;
    }
  }
}

/// Stores 32 columns of q from `column` on; four lanes write 64 bytes of a row.
template <int kWidth>
__device__ inline void StoreQueries(const WarpRows& rows, int column, const float (&sums)[4][4],
                                    std::uint32_t* q) {
  const TileLane lane = ThisTileLane();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    std::uint32_t words[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) words[j] = RoundPair(sums[j][2 * half], sums[j][2 * half + 1]);
    TransposeInQuad(words);
    const std::int64_t row = rows.Row(lane.g, half);
    if (row >= rows.end) continue;
    *reinterpret_cast<uint4*>(q + (row * kWidth + column) / 2 + 4 * lane.t) =
        uint4{words[0], words[1], words[2], words[3]};
  }
}

/// Adds biases and stores eight columns of keys and of values from `column` on: four channels of
/// the key, then the same four of the value. Lanes t = 0, 2 write row g, the others row g + 8.
template <int kWidth>
__device__ inline void StoreKeysAndValues(const WarpRows& rows, int column,
                                          const GrfProjections& layers, float epsilon,
                                          const float (&keys)[4], const float (&values)[4],
                                          std::uint32_t* packed_rows) {
  const TileLane lane = ThisTileLane();
  const auto key_bias = *reinterpret_cast<const float2*>(layers.key_bias + column + 2 * lane.t);
  const auto value_bias = *reinterpret_cast<const float2*>(layers.value_bias + column + 2 * lane.t);
  std::uint32_t key[2], value[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    key[half] = RoundPair(ReluFeature(keys[2 * half] + key_bias.x, epsilon),
                          ReluFeature(keys[2 * half + 1] + key_bias.y, epsilon));
    value[half] = RoundPair(values[2 * half] + value_bias.x, values[2 * half + 1] + value_bias.y);
  }
  const bool is_odd = lane.t % 2 != 0;
  const std::uint32_t other_key = __shfl_xor_sync(kWholeWarp, is_odd ? key[0] : key[1], 1);
  const std::uint32_t other_value = __shfl_xor_sync(kWholeWarp, is_odd ? value[0] : value[1], 1);
  const std::int64_t row = rows.Row(lane.g, is_odd ? 1 : 0);
  if (row >= rows.end) return;
  *reinterpret_cast<uint4*>(packed_rows + row * kWidth + column + 4 * (lane.t / 2)) =
      is_odd ? uint4{other_key, key[1], other_value, value[1]}
             : uint4{key[0], other_key, value[0], other_value};
}

/// q = query(LN h) and packed rows of phi(key(LN h)) and value(LN h).
/// Bound: reads of weights from shared memory, as AddLayersKernel.
/// Block: sums of 32 outputs at a time let twice as many warps share a multiprocessor.
/// Layout: normalised rows wait in shared memory as left sides; keys and values leave interleaved.
template <int kWidth>
__global__ void __launch_bounds__(DenseBlock<kWidth>::kThreads,
                                  kWidth <= 128 ? 2 * DenseBlock<kWidth>::kAtOnce : 1)
    GrfProjectionsKernel(std::int64_t n, RowRange queries, GrfProjections layers, float epsilon,
                         const float* h, std::uint32_t* q, std::uint32_t* packed_rows) {
  using Block = DenseBlock<kWidth>;
  constexpr int kRowTiles = Block::kRowTiles;
  constexpr int kTiles = kDensePiece / 8;
  constexpr int kQueryPieces = kWidth / kDensePiece;
  constexpr int kPieceVectors = kWidth * kDensePiece / 8;
  const std::int64_t first = blockIdx.x * Block::kRows;
  const bool has_queries = first < queries.end && first + Block::kRows > queries.begin;
  const int passed_over = has_queries ? 0 : kQueryPieces;
  uint4* const shared = LaunchedShared<uint4>();
  const WarpLeft<kWidth, kRowTiles> left(shared);
#pragma unroll 1
  for (int r = 0; r < kRowTiles; ++r) {
    NormRows<kWidth>(ThisWarpRows<kRowTiles>(0, n, r), h, layers.norm, left.Tile(r));
  }
  SingleStream<kWidth, Block::kThreads> stream(
      reinterpret_cast<const uint4*>(layers.packed) + passed_over * kPieceVectors,
      3 * kQueryPieces - passed_over, shared + Block::kLeftVectors);
#pragma unroll 1
  for (int piece = passed_over; piece < kQueryPieces; ++piece) {
    float sums[kRowTiles][kTiles][4] = {};
    MultiplyTiles<kWidth, 2>(left, stream.Next(), sums);
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      AddBias(layers.query_bias + piece * kDensePiece, sums[r]);
      StoreQueries<kWidth>(ThisWarpRows<kRowTiles>(0, n, r), piece * kDensePiece, sums[r], q);
    }
  }
#pragma unroll 1
  for (int piece = 0; piece < 2 * kQueryPieces; ++piece) {
    float sums[kRowTiles][kTiles][4] = {};
    MultiplyTiles<kWidth, 2>(left, stream.Next(), sums);
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int j = 0; j < kTiles; j += 2) {
        StoreKeysAndValues<kWidth>(ThisWarpRows<kRowTiles>(0, n, r),
                                   piece * kDensePiece / 2 + 4 * j, layers, epsilon, sums[r][j],
                                   sums[r][j + 1], packed_rows);
      }
    }
  }
}

/// Calls function.template operator()<kWidth>() with the width as a constant.
template <typename Function>
CudaError ByWidth(int width, const Function& function) {
  switch (width) {
    case 64:
      return function.template operator()<64>();
    case 128:
      return function.template operator()<128>();
    case 256:
      return function.template operator()<256>();
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

bool FitsFusedCuda(int width) {
  constexpr int kMaxWidth = 256, kSm80BlockBytes = 163 * 1024;
  static_assert(kFusedSharedBytesOfAColumn * kMaxWidth <= kSm80BlockBytes);
  if (width != 64 && width != 128 && width != kMaxWidth) return false;
  int block_bytes = 0;
  return BlockSharedBytes(&block_bytes) == 0 && block_bytes >= kFusedSharedBytesOfAColumn * width;
}

CudaError LaunchAddFeedForward(const RowRange& rows, int width, const FeedForwardLayers& layers,
                               float* h, CudaStream stream) {
  return LaunchAddMixed(rows, width, {}, nullptr, layers, h, stream);
}

CudaError LaunchGrfProjections(std::int64_t n, int width, const RowRange& queries,
                               const GrfProjections& layers, const GrfEpsilons& epsilons,
                               const float* h, std::uint16_t* q, std::uint16_t* packed_rows,
                               CudaStream stream) {
  if (n < 0 || queries.begin < 0 || queries.begin > queries.end || queries.end > n) {
    return cudaErrorInvalidValue;
  }
  return ByWidth(width, [&]<int kWidth>() {
    using Block = DenseBlock<kWidth>;
    constexpr std::int64_t kSharedBytes =
        Bytes(Block::kLeftVectors + SingleStream<kWidth, Block::kThreads>::kSharedVectors);
    static_assert(kSharedBytes <= kFusedSharedBytesOfAColumn * kWidth);
    return LaunchBlocks(GrfProjectionsKernel<kWidth>, BlocksFor(n, Block::kRows),
                        BlockShape{Block::kThreads, kSharedBytes}, stream, n, queries, layers,
                        static_cast<float>(epsilons.feature), h,
                        reinterpret_cast<std::uint32_t*>(q),
                        reinterpret_cast<std::uint32_t*>(packed_rows));
  });
}

CudaError LaunchAddMixed(const RowRange& rows, int width, const OutputLayer& out,
                         const std::uint16_t* mixed, const FeedForwardLayers& layers, float* h,
                         CudaStream stream) {
  if (rows.begin < 0 || rows.begin > rows.end || layers.hidden_width % kDensePiece != 0) {
    return cudaErrorInvalidValue;
  }
  return ByWidth(width, [&]<int kWidth>() {
    using Block = DenseBlock<kWidth>;
    constexpr std::int64_t kSharedBytes =
        Bytes(Block::kLeftVectors + PairStream<kWidth>::kSharedVectors);
    static_assert(kSharedBytes <= kFusedSharedBytesOfAColumn * kWidth);
    return LaunchBlocks(AddLayersKernel<kWidth>, BlocksFor(rows.end - rows.begin, Block::kRows),
                        BlockShape{Block::kThreads, kSharedBytes}, stream, rows, out, mixed, layers,
                        h);
  });
}

}  // namespace interlacer
