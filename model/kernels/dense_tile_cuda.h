#pragma once

/// Building blocks of the fused CUDA kernels: dense layers of one or two tiles of 16 rows, computed
/// by one warp on tensor cores. Only .cu files include it.
///
/// A warp keeps its rows from the norm to the residual sum: two tiles where registers allow,
/// because reads of weights from shared memory limit these kernels and one read then serves both
/// tiles. Rows in float32 lie in registers in the order of common/kernels/tensor_core.h: tile j of
/// a lane holds columns 8 j + 2 t and + 1 of rows g (numbers 0, 1) and g + 8 (numbers 2, 3).
/// Rounded to bfloat16 they are the left side of a product without any further exchange.

#include <cstdint>

#include "common/kernels/block_memory.h"
#include "common/kernels/launch.h"
#include "common/kernels/tensor_core.h"
#include "model/kernels/fused_dense.h"

namespace interlacer {

inline constexpr int kWarpRows = 16;

/// Shape of a block that keeps its rows in registers, with as many row tiles a warp as fit there.
/// Two small blocks fill the registers of a multiprocessor: one computes while the other waits for
/// its weights (a step of 65536 tokens on an H100: 2.00 ms, with one block of 256 threads 2.08).
template <int kWidth>
struct DenseBlock {
  static constexpr int kThreads = 128;
  static constexpr int kAtOnce = kWidth <= 128 ? 2 : 1;  ///< blocks of a multiprocessor
  static constexpr int kWarps = kThreads / kWarpLanes;
  static constexpr int kRowTiles = kWidth <= 128 ? 2 : 1;
  static constexpr std::int64_t kRows = kWarpRows * kRowTiles * kWarps;
  /// Shared memory for the rounded rows, in units of 16 bytes.
  static constexpr int kLeftVectors = kWarps * kRowTiles * (kWidth / 16) * kWarpLanes;
};

/// Position of a lane in a tile.
struct TileLane {
  int g;  ///< row, or column of a right side
  int t;  ///< pair of columns
};
__device__ inline TileLane ThisTileLane() {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  return {lane / 4, lane % 4};
}

/// A tile of 16 rows that starts at `first`; rows from `end` on do not exist.
struct WarpRows {
  std::int64_t first;
  std::int64_t end;

  __device__ std::int64_t Row(int g, int half) const { return first + g + 8 * half; }
};
/// The kRowTiles tiles of rows of this warp.
template <int kRowTiles>
__device__ inline WarpRows ThisWarpRows(std::int64_t begin, std::int64_t end, int tile = 0) {
  return {begin + (GlobalWarp() * kRowTiles + tile) * kWarpRows, end};
}

template <int kWidth>
using RowTiles = float[kWidth / 8][4];

/// Loads rows of x [.,kWidth]; rows that do not exist become zero.
template <int kWidth>
__device__ inline void LoadTiles(const WarpRows& rows, const float* x, RowTiles<kWidth>& to) {
  const TileLane lane = ThisTileLane();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = rows.Row(lane.g, half);
#pragma unroll
    for (int j = 0; j < kWidth / 8; ++j) {
      float2 pair = {0, 0};
      if (row < rows.end) {
        pair = *reinterpret_cast<const float2*>(x + row * kWidth + 8 * j + 2 * lane.t);
      }
      to[j][2 * half] = pair.x;
      to[j][2 * half + 1] = pair.y;
    }
  }
}

template <int kWidth>
__device__ inline void StoreTiles(const WarpRows& rows, const RowTiles<kWidth>& from, float* x) {
  const TileLane lane = ThisTileLane();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = rows.Row(lane.g, half);
    if (row >= rows.end) continue;
#pragma unroll
    for (int j = 0; j < kWidth / 8; ++j) {
      *reinterpret_cast<float2*>(x + row * kWidth + 8 * j + 2 * lane.t) =
          float2{from[j][2 * half], from[j][2 * half + 1]};
    }
  }
}

/// Adds bias[column] to kTiles tiles, the first of which starts at column 0 of `bias`.
template <int kTiles>
__device__ inline void AddBias(const float* bias, float (&tiles)[kTiles][4]) {
  const TileLane lane = ThisTileLane();
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    const float2 pair = *reinterpret_cast<const float2*>(bias + 8 * j + 2 * lane.t);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      tiles[j][2 * half] += pair.x;
      tiles[j][2 * half + 1] += pair.y;
    }
  }
}

/// Sum over the four lanes of a row; every lane gets it.
__device__ inline float SumOverRow(float value) {
  value += __shfl_xor_sync(kWholeWarp, value, 1);
  return value + __shfl_xor_sync(kWholeWarp, value, 2);
}

/// Rounds two neighbouring tiles to the left side of a product over their 16 columns.
__device__ inline void RoundTiles(const float (&low)[4], const float (&high)[4],
                                  std::uint32_t (&left)[4]) {
  left[0] = RoundPair(low[0], low[1]);
  left[1] = RoundPair(low[2], low[3]);
  left[2] = RoundPair(high[0], high[1]);
  left[3] = RoundPair(high[2], high[3]);
}

/// Rounded rows in shared memory, 16 columns a step; each lane reads only what it wrote itself.
struct SharedLeft {
  uint4* lane_rows;

  __device__ static constexpr int Vectors(int width) { return width / 16 * kWarpLanes; }
  __device__ void Put(int step, const std::uint32_t (&left)[4]) const {
    lane_rows[step * kWarpLanes] = uint4{left[0], left[1], left[2], left[3]};
  }
  __device__ void Get(int step, std::uint32_t (&left)[4]) const {
    const uint4 four = lane_rows[step * kWarpLanes];
    left[0] = four.x;
    left[1] = four.y;
    left[2] = four.z;
    left[3] = four.w;
  }
};

/// Rounded rows as the right side of transposed products: rows 0 to 7 and rows 8 to 15 each occupy
/// consecutive words.
struct SharedRight {
  uint4* lane_rows;

  __device__ void Put(int step, const std::uint32_t (&left)[4]) const {
    lane_rows[step * kWarpLanes] = uint4{left[0], left[2], left[1], left[3]};
  }
  __device__ uint4 Get(int step) const { return lane_rows[step * kWarpLanes]; }
};

/// The part of a block's shared memory that holds one tile of rows of kWidth columns.
template <int kWidth, typename Side = SharedLeft>
__device__ inline Side PartOfTile(uint4* shared, int tile) {
  return {shared + tile * SharedLeft::Vectors(kWidth) + static_cast<int>(threadIdx.x) % kWarpLanes};
}

/// The row tiles of this warp as the left side of a product.
template <int kWidth, int kRowTiles>
struct WarpLeft {
  SharedLeft first;

  __device__ explicit WarpLeft(uint4* shared)
      : first(PartOfTile<kWidth>(shared, static_cast<int>(threadIdx.x) / kWarpLanes * kRowTiles)) {}
  __device__ SharedLeft Tile(int r) const {
    return {first.lane_rows + r * SharedLeft::Vectors(kWidth)};
  }
  __device__ void operator()(int r, int step, std::uint32_t (&left)[4]) const {
    Tile(r).Get(step, left);
  }
};

/// Layer norm of two neighbouring tiles of columns from `column` on, rounded; `mean` and `inverse`
/// are those of the lane's two rows.
template <typename Side>
__device__ inline void PutNormed(const float (&low)[4], const float (&high)[4],
                                 const float (&mean)[2], const float (&inverse)[2],
                                 const RowNorm& norm, int step, const Side& to) {
  const TileLane lane = ThisTileLane();
  float normed[2][4];
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    const float(&x)[4] = tile == 0 ? low : high;
    const int column = 16 * step + 8 * tile + 2 * lane.t;
    const float2 scale = *reinterpret_cast<const float2*>(norm.scale + column);
    const float2 bias = *reinterpret_cast<const float2*>(norm.bias + column);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // One fused multiply-add with the mean folded in: the differences of the variance need no
      // registers.
      const float a = inverse[half] * scale.x;
      const float b = inverse[half] * scale.y;
      normed[tile][2 * half] = x[2 * half] * a + (bias.x - mean[half] * a);
      normed[tile][2 * half + 1] = x[2 * half + 1] * b + (bias.y - mean[half] * b);
    }
  }
  std::uint32_t rounded[4];
  RoundTiles(normed[0], normed[1], rounded);
  to.Put(step, rounded);
}

/// Layer norm of rows in registers, rounded.
template <int kWidth>
__device__ inline void NormTiles(const RowTiles<kWidth>& x, const RowNorm& norm,
                                 const SharedLeft& left) {
  float mean[2], inverse[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = 0, squares = 0;
#pragma unroll
    for (int j = 0; j < kWidth / 8; ++j) sum += x[j][2 * half] + x[j][2 * half + 1];
    mean[half] = SumOverRow(sum) / kWidth;
#pragma unroll
    for (int j = 0; j < kWidth / 8; ++j) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float difference = x[j][2 * half + c] - mean[half];
        squares += difference * difference;
      }
    }
    inverse[half] = 1 / sqrtf(SumOverRow(squares) / kWidth + norm.epsilon);
  }
#pragma unroll
  for (int step = 0; step < kWidth / 16; ++step) {
    PutNormed(x[2 * step], x[2 * step + 1], mean, inverse, norm, step, left);
    __syncwarp();  // keeps the compiler from loading all of scale and bias first
  }
}

/// Layer norm of rows in memory, rounded. Reads the rows three times, twice from the cache, to save
/// registers.
template <int kWidth, typename Side>
__device__ inline void NormRows(const WarpRows& rows, const float* x, const RowNorm& norm,
                                const Side& to) {
  const TileLane lane = ThisTileLane();
  float mean[2], inverse[2];
  const float* from[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    // Rows that do not exist repeat the last one; their results are not used.
    const std::int64_t row = rows.Row(lane.g, half);
    from[half] = x + (row < rows.end ? row : rows.end - 1) * kWidth + 2 * lane.t;
    float sum = 0, squares = 0;
#pragma unroll 8
    for (int j = 0; j < kWidth / 8; ++j) {
      const float2 pair = *reinterpret_cast<const float2*>(from[half] + 8 * j);
      sum += pair.x + pair.y;
    }
    mean[half] = SumOverRow(sum) / kWidth;
#pragma unroll 8
    for (int j = 0; j < kWidth / 8; ++j) {
      const float2 pair = *reinterpret_cast<const float2*>(from[half] + 8 * j);
      squares += (pair.x - mean[half]) * (pair.x - mean[half]) +
                 (pair.y - mean[half]) * (pair.y - mean[half]);
    }
    inverse[half] = 1 / sqrtf(SumOverRow(squares) / kWidth + norm.epsilon);
  }
#pragma unroll 2
  for (int step = 0; step < kWidth / 16; ++step) {
    float tiles[2][4];
#pragma unroll
    for (int x_of = 0; x_of < 4; ++x_of) {
      const float2 pair =
          *reinterpret_cast<const float2*>(from[x_of / 2] + 16 * step + 8 * (x_of % 2));
      tiles[x_of % 2][x_of / 2 * 2] = pair.x;
      tiles[x_of % 2][x_of / 2 * 2 + 1] = pair.y;
    }
    PutNormed(tiles[0], tiles[1], mean, inverse, norm, step, to);
  }
}

}  // namespace interlacer
