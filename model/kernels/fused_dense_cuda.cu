#include "model/kernels/feed_forward_tile_cuda.h"
#include "model/kernels/fused_dense_cuda.h"
#include "model/kernels/packed_grf_rows.h"

namespace interlacer {
namespace {

constexpr int kProjectionThreads = 256;
constexpr int kProjectionWarps = kProjectionThreads / kWarpLanes;
constexpr std::int64_t kProjectionRows = kProjectionWarps * kWarpRows;  // of a block

/// Pieces of one layer.
template <int kWidth, int kThreads>
using SingleStream = WeightStream<kWidth * kDensePiece / 8, kThreads>;

constexpr std::int64_t Bytes(int vectors) { return std::int64_t{vectors} * sizeof(uint4); }

/// h += out(mixed), unless there is no such layer, then the feed-forward layers, unless absent.
template <int kWidth>
__global__ void __launch_bounds__(DenseBlock<kWidth>::kThreads, DenseBlock<kWidth>::kBlocksAtOnce)
    AddLayersKernel(FusedRange range, OutputLayer out, const std::uint16_t* mixed,
                    FeedForwardLayers feed_forward, float* h) {
  uint4* const shared = LaunchedShared<uint4>();
  uint4* const stream_shared = shared + DenseBlock<kWidth>::kLeftVectors;
  const WarpRows rows = ThisWarpRows(range.begin, range.end);
  const TileLane lane = ThisTileLane();
  float x[kWidth / 8][4];
  LoadTiles<kWidth>(rows, h, x);
  if (out.packed != nullptr) {
    AddBias(out.bias, x);
    SingleStream<kWidth, DenseBlock<kWidth>::kThreads> stream(
        reinterpret_cast<const uint4*>(out.packed), kWidth / kDensePiece, stream_shared);
#pragma unroll 1
    for (int piece = 0; piece < kWidth / kDensePiece; ++piece) {
      RegisterLeft<2> left = {};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::int64_t row = rows.Row(lane.g, half);
        if (row >= rows.end) continue;
        const std::uint16_t* const from = mixed + row * kWidth + piece * kDensePiece + 2 * lane.t;
#pragma unroll
        for (int part = 0; part < 4; ++part) {
          left.steps[part / 2][part % 2 * 2 + half] =
              *reinterpret_cast<const std::uint32_t*>(from + 8 * part);
        }
      }
      MultiplyTiles<kDensePiece>(left, stream.Next(), x);
    }
  }
  if (feed_forward.packed != nullptr) {
    AddFeedForwardTiles<kWidth>(
        feed_forward, LeftOfWarp<kWidth>(shared, static_cast<int>(threadIdx.x) / kWarpLanes),
        stream_shared, x);
  }
  StoreTiles<kWidth>(rows, x, h);
}

template <int kWidth>
__global__ void __launch_bounds__(kProjectionThreads, 2)
    GrfProjectionsKernel(std::int64_t n, FusedRange queries, GrfProjections layers, float epsilon,
                         const float* h, std::uint32_t* q, std::uint32_t* packed_rows) {
  constexpr int kTiles = kDensePiece / 8;
  constexpr int kQueryPieces = kWidth / kDensePiece;
  constexpr int kPieceVectors = kWidth * kDensePiece / 8;
  const std::int64_t first = blockIdx.x * kProjectionRows;
  const bool has_queries = first < queries.end && first + kProjectionRows > queries.begin;
  const int passed_over = has_queries ? 0 : kQueryPieces;
  uint4* const shared = LaunchedShared<uint4>();
  const WarpRows rows = ThisWarpRows(0, n);
  const TileLane lane = ThisTileLane();
  const SharedLeft left = LeftOfWarp<kWidth>(shared, static_cast<int>(threadIdx.x) / kWarpLanes);
  NormRows<kWidth>(rows, h, layers.norm, left);
  SingleStream<kWidth, kProjectionThreads> stream(
      reinterpret_cast<const uint4*>(layers.packed) + passed_over * kPieceVectors,
      3 * kQueryPieces - passed_over, shared + kProjectionWarps * SharedLeft::Vectors(kWidth));
  const auto multiply = [&](float(&sums)[kTiles][4]) {
    MultiplyTiles<kWidth>([&](int step, std::uint32_t(&to)[4]) { left.Get(step, to); },
                          stream.Next(), sums);
  };
#pragma unroll 1
  for (int piece = passed_over; piece < kQueryPieces; ++piece) {
    float sums[kTiles][4] = {};
    multiply(sums);
    AddBias(layers.query_bias + piece * kDensePiece, sums);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = rows.Row(lane.g, half);
      if (row >= rows.end) continue;
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        q[(row * kWidth + piece * kDensePiece + 8 * j) / 2 + lane.t] =
            RoundPair(sums[j][2 * half], sums[j][2 * half + 1]);
      }
    }
  }
#pragma unroll 1
  for (int piece = 0; piece < 2 * kQueryPieces; ++piece) {
    float sums[kTiles][4] = {};
    multiply(sums);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      const int column = piece * kDensePiece / 2 + 8 * (j / 2);
      const bool is_key = j % 2 == 0;
      const float2 bias = *reinterpret_cast<const float2*>(
          (is_key ? layers.key_bias : layers.value_bias) + column + 2 * lane.t);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::int64_t row = rows.Row(lane.g, half);
        if (row >= rows.end) continue;
        float low = sums[j][2 * half] + bias.x;
        float high = sums[j][2 * half + 1] + bias.y;
        if (is_key) {
          low = ReluFeature(low, epsilon);
          high = ReluFeature(high, epsilon);
        }
        // Four channels of the key are followed by the same four of the value.
        const int group = column / 4 + lane.t / 2;
        packed_rows[row * kWidth + 4 * group + (is_key ? 0 : 2) + lane.t % 2] =
            RoundPair(low, high);
      }
    }
  }
}

/// Calls function.template operator()<kWidth>().
template <typename Function>
int ByWidth(int width, const Function& function) {
  switch (width) {
    case 64:
      return function.template operator()<64>();
    case 128:
      return function.template operator()<128>();
    case 256:
      return function.template operator()<256>();
    default:
      return static_cast<int>(cudaErrorInvalidValue);
  }
}

}  // namespace

bool FitsFusedCuda(int width) {
  if (width != 64 && width != 128 && width != 256) return false;
  int block_bytes = 0;
  return BlockSharedBytes(&block_bytes) == 0 && block_bytes >= kFusedSharedBytesOfAColumn * width;
}

int LaunchAddFeedForward(const FusedRange& rows, int width, const FeedForwardLayers& layers,
                         float* h, void* stream) {
  return LaunchAddMixed(rows, width, {}, nullptr, layers, h, stream);
}

int LaunchGrfProjections(std::int64_t n, int width, const FusedRange& queries,
                         const GrfProjections& layers, const GrfEpsilons& epsilons, const float* h,
                         std::uint16_t* q, std::uint16_t* packed_rows, void* stream) {
  if (n < 0 || queries.begin < 0 || queries.begin > queries.end || queries.end > n) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  return ByWidth(width, [&]<int kWidth>() {
    constexpr int kSharedVectors = kProjectionWarps * (kWidth / 16) * kWarpLanes +
                                   SingleStream<kWidth, kProjectionThreads>::kSharedVectors;
    return LaunchBlocks(
        GrfProjectionsKernel<kWidth>, BlocksFor(n, kProjectionRows),
        BlockShape{kProjectionThreads, Bytes(kSharedVectors)}, static_cast<cudaStream_t>(stream), n,
        queries, layers, static_cast<float>(epsilons.feature), h,
        reinterpret_cast<std::uint32_t*>(q), reinterpret_cast<std::uint32_t*>(packed_rows));
  });
}

int LaunchAddMixed(const FusedRange& rows, int width, const OutputLayer& out,
                   const std::uint16_t* mixed, const FeedForwardLayers& layers, float* h,
                   void* stream) {
  if (rows.begin < 0 || rows.begin > rows.end || layers.hidden_width % kDensePiece != 0) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  return ByWidth(width, [&]<int kWidth>() {
    using Block = DenseBlock<kWidth>;
    constexpr std::int64_t kSharedBytes =
        Bytes(Block::kLeftVectors + PairStream<kWidth>::kSharedVectors);
    static_assert(kSharedBytes <= kFusedSharedBytesOfAColumn * kWidth);
    return LaunchBlocks(AddLayersKernel<kWidth>, BlocksFor(rows.end - rows.begin, Block::kRows),
                        BlockShape{Block::kThreads, kSharedBytes},
                        static_cast<cudaStream_t>(stream), rows, out, mixed, layers, h);
  });
}

}  // namespace interlacer
