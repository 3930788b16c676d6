#include "common/kernels/block_memory.h"
#include "common/kernels/host_device.h"
#include "common/kernels/launch.h"
#include "common/kernels/tensor_core.h"
#include "model/kernels/packed_grf_rows.h"
#include "model/kernels/wide_linear_cuda.h"

namespace interlacer {
namespace {

// A block works on kSide channels of a head on either side of the state; heads of more channels
// have several blocks, those of fewer leave the rest at zero.

constexpr int kSide = 128;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kBlocksAtOnce = 2;  // of a multiprocessor
constexpr int kVectorChannels = 8;
constexpr int kSideVectors = kSide / kVectorChannels;  // loads of 16 bytes
constexpr int kGroupChannels = 32;                     // that four lanes load of a row

constexpr int kTurnPairs = kThreads / kSideVectors;  // pairs of tokens staged at once
constexpr int kPairStride = kSide + 8;               // lanes of a product read different banks
constexpr std::int64_t kTileTokens = 1024;           // of a block, for each side of the state

constexpr int kOutputTokens = 16 * kWarps;
constexpr int kStateStride = kSideVectors + 4;  // as above, in vectors

struct Shape {
  std::int64_t n;
  int heads;
  int width;  ///< of a head
  int sides;  ///< of the state, in kSide channels

  INTERLACER_HOST_DEVICE std::int64_t row() const { return std::int64_t{heads} * width; }
  /// S [width, width] and z [width].
  INTERLACER_HOST_DEVICE std::int64_t state() const { return std::int64_t{width} * (width + 1); }
  INTERLACER_HOST_DEVICE std::int64_t tile_tokens() const { return kTileTokens * sides; }
};

Shape ShapeOf(const LinearAttentionShape& shape) {
  return {shape.n, shape.heads, shape.head_width, (shape.head_width + kSide - 1) / kSide};
}

std::int64_t TileCount(const Shape& shape) {
  return (shape.n + shape.tile_tokens() - 1) / shape.tile_tokens();
}

/// 8 channels of two neighbouring tokens.
struct TokenPair {
  uint4 first;
  uint4 second;
};

/// Tokens from `end` on and channels that the head does not have are zero.
__device__ TokenPair LoadPair(const Shape& shape, const std::uint16_t* x, std::int64_t token,
                              std::int64_t end, int head, int channel) {
  TokenPair pair = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  if (channel >= shape.width) return pair;
  const std::uint16_t* const at = x + token * shape.row() + head * shape.width + channel;
  if (token < end) pair.first = *reinterpret_cast<const uint4*>(at);
  if (token + 1 < end) pair.second = *reinterpret_cast<const uint4*>(at + shape.row());
  return pair;
}

/// Channel by channel, the first token in the lower half.
__device__ void StorePair(const std::uint32_t (&first)[4], const std::uint32_t (&second)[4],
                          std::uint32_t* to) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::uint32_t a = first[2 * half], b = first[2 * half + 1];
    const std::uint32_t c = second[2 * half], d = second[2 * half + 1];
    *reinterpret_cast<uint4*>(to + 4 * half) =
        uint4{(a & 0xFFFFu) | c << 16, a >> 16 | (c & 0xFFFF0000u), (b & 0xFFFFu) | d << 16,
              b >> 16 | (d & 0xFFFF0000u)};
  }
}

__device__ std::uint32_t PhiPair(std::uint32_t pair, float epsilon) {
  return RoundPair(ReluFeature(LowHalf(pair), epsilon), ReluFeature(HighHalf(pair), epsilon));
}

/// phi of 8 channels of a token, or zeros for one that is not there.
__device__ void PhiOf(const uint4& x, bool present, float epsilon, std::uint32_t (&phi)[4]) {
  const std::uint32_t words[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int w = 0; w < 4; ++w) phi[w] = present ? PhiPair(words[w], epsilon) : 0;
}

/// A block a tile of tokens, head, and kSide x kSide numbers of the state: sums of phi(k)_a v_b,
/// and of phi(k)_a alone. partial [tiles, heads, state]. A warp has 32 of the a by 64 of the b.
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    WideStateKernel(Shape shape, const std::uint16_t* k, const std::uint16_t* v, float epsilon,
                    float* partial) {
  __shared__ __align__(16) std::uint32_t keys[kTurnPairs][kPairStride];
  __shared__ __align__(16) std::uint32_t values[kTurnPairs][kPairStride];
  std::int64_t block = blockIdx.x;
  const int first_b = static_cast<int>(block % shape.sides) * kSide;
  block /= shape.sides;
  const int first_a = static_cast<int>(block % shape.sides) * kSide;
  block /= shape.sides;
  const int head = static_cast<int>(block % shape.heads);
  const std::int64_t begin = block / shape.heads * shape.tile_tokens();
  const std::int64_t end =
      begin + shape.tile_tokens() < shape.n ? begin + shape.tile_tokens() : shape.n;

  const int my_pair = static_cast<int>(threadIdx.x) / kSideVectors;
  const int my_channel = static_cast<int>(threadIdx.x) % kSideVectors * kVectorChannels;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int g = lane / 4, t = lane % 4;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int warp_a = warp / 2 * 32;
  const int warp_b = warp % 2 * 64;
  const bool sums_keys = first_b + warp_b == 0;
  // A right side whose column 0 is ones.
  const std::uint32_t ones = g == 0 ? 0x3F803F80u : 0;

  float state[2][8][4] = {};
  float mass[2][4] = {};
  TokenPair key = LoadPair(shape, k, begin + 2 * my_pair, end, head, first_a + my_channel);
  TokenPair value = LoadPair(shape, v, begin + 2 * my_pair, end, head, first_b + my_channel);
  for (std::int64_t first = begin; first < end; first += 2 * kTurnPairs) {
    const std::int64_t token = first + 2 * my_pair;
    const bool has_channel = first_a + my_channel < shape.width;
    std::uint32_t phi[2][4];
    PhiOf(key.first, has_channel && token < end, epsilon, phi[0]);
    PhiOf(key.second, has_channel && token + 1 < end, epsilon, phi[1]);
    StorePair(phi[0], phi[1], &keys[my_pair][my_channel]);
    const std::uint32_t v_first[4] = {value.first.x, value.first.y, value.first.z, value.first.w};
    const std::uint32_t v_second[4] = {value.second.x, value.second.y, value.second.z,
                                       value.second.w};
    StorePair(v_first, v_second, &values[my_pair][my_channel]);
    __syncthreads();
    // The next turn's rows are on their way while this one's are multiplied.
    key = LoadPair(shape, k, token + 2 * kTurnPairs, end, head, first_a + my_channel);
    value = LoadPair(shape, v, token + 2 * kTurnPairs, end, head, first_b + my_channel);
#pragma unroll
    for (int step = 0; step < kTurnPairs / 8; ++step) {
      const std::uint32_t* const key_low = keys[8 * step + t] + warp_a + g;
      const std::uint32_t* const key_high = keys[8 * step + t + 4] + warp_a + g;
      const std::uint32_t* const value_low = values[8 * step + t] + warp_b + g;
      const std::uint32_t* const value_high = values[8 * step + t + 4] + warp_b + g;
#pragma unroll
      for (int a = 0; a < 2; ++a) {
        const std::uint32_t left[4] = {key_low[16 * a], key_low[16 * a + 8], key_high[16 * a],
                                       key_high[16 * a + 8]};
#pragma unroll
        for (int b = 0; b < 8; ++b) {
          MultiplyAdd(state[a][b], left, value_low[8 * b], value_high[8 * b]);
        }
        if (sums_keys) MultiplyAdd(mass[a], left, ones, ones);
      }
    }
    __syncthreads();
  }

  const std::int64_t tile = block / shape.heads;
  float* const to = partial + (tile * shape.heads + head) * shape.state();
#pragma unroll
  for (int a = 0; a < 2; ++a) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_a + warp_a + 16 * a + g + 8 * half;
      if (row >= shape.width) continue;
#pragma unroll
      for (int b = 0; b < 8; ++b) {
        const int column = first_b + warp_b + 8 * b + 2 * t;
        if (column >= shape.width) continue;
        *reinterpret_cast<float2*>(to + std::int64_t{row} * shape.width + column) =
            float2{state[a][b][2 * half], state[a][b][2 * half + 1]};
      }
      if (sums_keys && t == 0) {
        to[std::int64_t{shape.width} * shape.width + row] = mass[a][2 * half];
      }
    }
  }
}

/// Means over all tokens, tiles in order, rounded: [heads, width + 1, width], row b of a head being
/// the numbers S_ab of all a, its last row z.
__global__ void WideMeansKernel(Shape shape, std::int64_t tiles, const float* partial, float scale,
                                std::uint16_t* means) {
  const std::int64_t count = shape.heads * shape.state();
  const std::int64_t x = GlobalThread();
  if (x >= count) return;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t tile = 0; tile < tiles; ++tile) sum += partial[tile * count + x];
  const std::int64_t head = x / shape.state(), at = x % shape.state();
  const std::int64_t row = at / shape.width, column = at % shape.width;
  const bool is_z = row == shape.width;
  const std::int64_t to = is_z ? at : column * shape.width + row;
  means[head * shape.state() + to] = static_cast<std::uint16_t>(RoundPair(scale * sum, 0));
}

/// A block kOutputTokens tokens, head, and kSide channels of the result; a warp 16 of the tokens.
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    WideOutputKernel(Shape shape, const std::uint16_t* q, const std::uint16_t* means, float epsilon,
                     float delta, std::uint16_t* out) {
  __shared__ __align__(16) uint4 state[(kSide + 1) * kStateStride];
  std::int64_t block = blockIdx.x;
  const int first_b = static_cast<int>(block % shape.sides) * kSide;
  block /= shape.sides;
  const int head = static_cast<int>(block % shape.heads);
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int g = lane / 4, t = lane % 4;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const std::int64_t token = block / shape.heads * kOutputTokens + 16 * warp + g;
  const std::uint16_t* const head_means = means + head * shape.state();
  // Of this lane's rows, token and token + 8.
  const std::int64_t place = token * shape.row() + head * shape.width;

  float sums[kSide / 8][4] = {};
  float mass[4] = {};
  for (int first_a = 0; first_a < shape.width; first_a += kSide) {
    const int channels = shape.width - first_a < kSide ? shape.width - first_a : kSide;
    const int vectors = channels / kVectorChannels;
    __syncthreads();
    // A row of z after those of S.
    for (int x = static_cast<int>(threadIdx.x); x < (kSide + 1) * kSideVectors; x += kThreads) {
      const int row = x / kSideVectors, vector = x % kSideVectors;
      const int b = row < kSide ? first_b + row : shape.width;
      if (vector >= vectors) continue;
      uint4* const to = state + row * kStateStride + vector;
      if (row < kSide && b >= shape.width) {
        *to = uint4{0, 0, 0, 0};
      } else {
        BeginCopy16(
            to, head_means + std::int64_t{b} * shape.width + first_a + vector * kVectorChannels);
      }
    }
    AwaitCopies();
    __syncthreads();
#pragma unroll 1
    for (int group = 0; group < channels / kGroupChannels; ++group) {
      // Channels 8 t to 8 t + 7 of the group, two at a time: the order of products does not matter
      // as long as both sides have the same.
      std::uint32_t rows[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint4 vector = {0, 0, 0, 0};
        if (token + 8 * half < shape.n) {
          vector = *reinterpret_cast<const uint4*>(q + place + 8 * half * shape.row() + first_a +
                                                   kGroupChannels * group + kVectorChannels * t);
        }
        PhiOf(vector, true, epsilon, rows[half]);
      }
      const std::uint32_t low[4] = {rows[0][0], rows[1][0], rows[0][1], rows[1][1]};
      const std::uint32_t high[4] = {rows[0][2], rows[1][2], rows[0][3], rows[1][3]};
      const uint4 zs = state[kSide * kStateStride + 4 * group + t];
      MultiplyAdd(mass, low, g == 0 ? zs.x : 0, g == 0 ? zs.y : 0);
      MultiplyAdd(mass, high, g == 0 ? zs.z : 0, g == 0 ? zs.w : 0);
#pragma unroll
      for (int b = 0; b < kSide / 8; ++b) {
        const uint4 right = state[(8 * b + g) * kStateStride + 4 * group + t];
        MultiplyAdd(sums[b], low, right.x, right.y);
        MultiplyAdd(sums[b], high, right.z, right.w);
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    // Column 0 of the masses is with the first lane of a row.
    const float denominator = delta + __shfl_sync(kWholeWarp, mass[2 * half], lane - t);
    const float scale = denominator == 0 ? 0 : 1 / denominator;
    if (token + 8 * half >= shape.n) continue;
    std::uint16_t* const to = out + place + 8 * half * shape.row() + first_b + 2 * t;
#pragma unroll
    for (int b = 0; b < kSide / 8; ++b) {
      if (first_b + 8 * b >= shape.width) continue;
      *reinterpret_cast<std::uint32_t*>(to + 8 * b) =
          RoundPair(scale * sums[b][2 * half], scale * sums[b][2 * half + 1]);
    }
  }
}

}  // namespace

bool FitsWideLinear(const LinearAttentionShape& shape) {
  return shape.n >= 0 && shape.heads > 0 && shape.head_width > 0 &&
         shape.head_width % kGroupChannels == 0 && shape.head_width <= kMaxWideLinearHead;
}

std::int64_t WideLinearScratchCount(const LinearAttentionShape& shape) {
  const Shape s = ShapeOf(shape);
  // The means are half as long as a tile's state.
  return (TileCount(s) + 1) * s.heads * s.state();
}

int LaunchWideLinearAttention(const LinearAttentionShape& shape, const std::uint16_t* q,
                              const std::uint16_t* k, const std::uint16_t* v,
                              const LinearAttentionEpsilons& epsilons, float* scratch,
                              std::uint16_t* out, void* stream_handle) {
  if (!FitsWideLinear(shape)) return static_cast<int>(cudaErrorInvalidValue);
  if (shape.n == 0) return 0;
  const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
  const Shape s = ShapeOf(shape);
  const std::int64_t tiles = TileCount(s), states = s.heads * s.state();
  const float epsilon = static_cast<float>(epsilons.feature);
  auto* const means = reinterpret_cast<std::uint16_t*>(scratch + tiles * states);
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(WideStateKernel, tiles * s.heads * s.sides * s.sides,
                                               kThreads, stream, s, k, v, epsilon, scratch));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(WideMeansKernel, BlocksFor(states, kThreads), kThreads, stream, s, tiles,
                   scratch, static_cast<float>(1.0 / static_cast<double>(s.n)), means));
  return LaunchBlocks(WideOutputKernel, BlocksFor(s.n, kOutputTokens) * s.heads * s.sides, kThreads,
                      stream, s, q, means, epsilon, static_cast<float>(epsilons.normalizer), out);
}

}  // namespace interlacer
